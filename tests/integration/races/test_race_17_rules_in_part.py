"""Race 17: a rule applied in part. There is one gateway, and it refuses the part."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain import laws
from mos.domain.errors import LawViolation
from mos.domain.model import Job, Task
from mos.domain.transitions import By
from tests.builders import NOW, job, lease, task
from tests.integration.store.conftest import Store, runtime, store

__all__ = ["runtime", "store"]

ID = "j.s1.upscale"
DRIVEN = {"check_by": "reaper", "check_at": NOW}
PARTS: dict[str, tuple[Any, By, dict[str, Any], str]] = {
    "a drain that lands just after the completion (race 6)": (
        task("completed"),
        By.WORKER,
        {"status": "queued", "queued_at": NOW},
        "S2",
    ),
    "a failed task that a redelivered message runs again (race 8)": (
        task("failed"),
        By.WORKER,
        {"status": "running", "lease": lease(ends=NOW)},
        "S2",
    ),
    "a repair that keeps the attempt, so that old messages count again": (
        task("failed", attempt=2),
        By.OPERATOR,
        {"status": "pending"},
        "S3",
    ),
    "a claim that takes no lease": (
        task("queued", send={}, **DRIVEN),
        By.WORKER,
        {"status": "running", "queued_at": None},
        "S17",
    ),
    "a release that does not say since when the task waits": (
        task("running", lease=lease(ends=NOW), queued_at=None, started_at=None, send={}, **DRIVEN),
        By.WORKER,
        {"status": "queued", "lease": None},
        "S17",
    ),
}


@pytest.mark.parametrize("guard", ["on", "off"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_rule_is_refused_whole(
    store: Store, part: str, guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, by, fields, invariant = PARTS[part]
    store.put(before, job("processing", check_by="stalled-jobs", check_at=NOW))
    stored = store.raw(f"tasks/{ID}")
    # An entry for the state it starts from, so that the log tells the whole life.
    entry = {"by": "worker", "act": "seed", "at": store.runtime.server_time()}
    line = {
        "path": f"tasks/{ID}",
        "before": before.status.value,
        "after": before.status.value,
        "attempt": before.attempt,
    }
    store.other.document("recoveryLog/seed").set(entry | {"changes": [line]})
    if guard == "on":
        with pytest.raises(LawViolation):
            store.change(Task, ID, by, **fields)
        assert store.raw(f"tasks/{ID}") == stored
        assert store.violations() == set()
        return
    monkeypatch.setattr(laws, "check_task", lambda change, by, driver: None)
    store.change(Task, ID, by, **fields)
    assert invariant in store.violations()


@pytest.mark.parametrize("guard", ["on", "off"])
def test_a_job_that_leaves_completed_is_refused(store: Store, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(job("completed"))
    if guard == "on":
        with pytest.raises(LawViolation, match="completed → failed"):
            store.change(Job, "j", By.WORKER, status="failed")
        assert store.violations() == set()
        return
    monkeypatch.setattr(laws, "check_job", lambda change, by, driver: None)
    store.change(Job, "j", By.WORKER, status="failed")
    assert store.violations() == {"S2"}
