"""Race 12: the reaper checks, stands still for 45 minutes, and then writes. Each act compares what it saw, and sets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mos.domain.errors import ConflictError
from mos.domain.model import Task
from mos.domain.reaping import ReapAct, ReapKind
from mos.domain.transitions import By
from mos.missions import reaper_acts
from mos.missions.reaper_acts import ReaperActs
from tests.builders import job, lease, task
from tests.integration.store.conftest import Store, runtime, store

__all__ = ["runtime", "store"]

ID = "j.s1.upscale"
PAUSE = 45 * 60


@pytest.mark.parametrize("guard", ["on", "off"])
def test_work_that_was_taken_over_meanwhile_is_not_reaped(
    store: Store, guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if guard == "off":
        monkeypatch.setattr(reaper_acts, "_same", lambda current, act: current)
    seen = task("running", lease=lease(ends=store.runtime.server_time() - timedelta(minutes=3)))
    store.put(seen, job(check_by="stalled-jobs", check_at=store.runtime.server_time()))
    act = ReapAct(ReapKind.REAP, seen, "its lease ended; the queue is empty")

    store.runtime.sleep(PAUSE)
    alive = lease(ends=store.runtime.server_time() + timedelta(minutes=4), token="new", owner="boot-b")
    store.change(Task, ID, By.WORKER, lease=alive, reap_count=1, executions=2)

    acts: Any = ReaperActs(client=store.client, gateway=store.gateway, sender=None)  # type: ignore[arg-type]
    if guard == "on":
        with pytest.raises(ConflictError, match="renewed or taken over"):
            store.gateway.transact(lambda reader: acts._back(reader, act))
        assert store.raw(f"tasks/{ID}")["lease"]["token"] == "new"
        assert store.violations() == set()
    else:
        store.gateway.transact(lambda reader: acts._back(reader, act))
        assert store.raw(f"tasks/{ID}")["status"] == "queued"
        assert store.violations() == {"S6"}
