"""Race 7: a commit with an unknown outcome, and a worker that calls every error a failure: completed → failed.

The outcome is read back, so that an applied commit is a success; and the table knows no way from completed.
"""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain import laws
from mos.domain.changes import Commit, TaskChange
from mos.domain.errors import LawViolation, StateStoreError
from mos.domain.transitions import By
from mos.store import transactions
from tests.builders import NOW, job, lease, task
from tests.integration.store.conftest import Store, runtime, store, unanswered

__all__ = ["runtime", "store"]

ID = "j.s1.upscale"


def to(store: Store, status: str) -> None:
    """The mistake: whatever the task is by now, it becomes `status`."""

    def body(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID)
        after = found.replace(status=status, lease=None)
        return Commit(By.WORKER, "end", "c", tasks=(TaskChange(found, after, "x"),)), None

    store.gateway.transact(body)


def work(store: Store) -> None:
    try:
        to(store, "completed")
    except StateStoreError:
        to(store, "failed")


def forget_to_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions._Run, "learn", lambda self, error, attempt: setattr(self, "last", error))
    monkeypatch.setattr(transactions._Run, "hopeless", property(lambda self: True))


def forget_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "check_task", lambda change, by, driver: None)


@pytest.fixture
def running(store: Store) -> Store:
    store.put(task("running", lease=lease(ends=NOW), check_by="reaper", check_at=NOW))
    store.put(job(check_by="stalled-jobs", check_at=NOW))
    store.script.on("Commit", unanswered("UNAVAILABLE"))
    return store


@pytest.mark.parametrize("guard", ["on", "off"])
def test_an_applied_commit_is_never_made_a_failure(running: Store, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if guard == "off":
        forget_to_read_back(monkeypatch)
        forget_the_table(monkeypatch)
    work(running)
    assert running.raw(f"tasks/{ID}")["status"] == ("completed" if guard == "on" else "failed")
    assert running.violations() == (set() if guard == "on" else {"S2"})


def test_even_a_worker_that_does_not_read_back_cannot_leave_completed(
    running: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_to_read_back(monkeypatch)
    with pytest.raises(LawViolation, match="completed → failed"):
        work(running)
    assert running.violations() == set()
