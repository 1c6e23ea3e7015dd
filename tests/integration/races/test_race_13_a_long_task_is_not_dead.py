"""Race 13: a long task that lives is reaped for its age."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain import reaping
from mos.domain.model import JobStatus
from mos.missions import reaper
from mos.store.queries import Query
from tests.integration.missions.conftest import POLICY, TICK, Place, place, quiet

__all__ = ["place", "quiet"]


def by_age(by: Any, status: Any, now: Any, limit: int) -> Query:
    """Whatever runs, however its lease stands."""
    return Query("by_age", "tasks", (("checkBy", "==", str(by)), ("status", "==", str(status))), limit=limit)


@pytest.mark.parametrize("fixed", [True, False])
def test_race_13_only_the_lease_says_that_a_worker_is_gone(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool
) -> None:
    """Forty minutes of work, more than three times the step's time-to-live, with a heartbeat each minute."""
    if not fixed:
        ttl = POLICY.pipeline.steps["edit"].running_ttl
        monkeypatch.setattr(reaper, "tasks_due", by_age)
        monkeypatch.setattr(reaping, "lease_end", lambda task, policy: task.started_at + ttl)
    place.submit("j")
    acts: list[str] = []

    def works_long(_: Any) -> None:
        for _ in range(8):
            place.world.runtime.sleep(TICK)
            acts.extend(result.kind for result in place.reap().results)

    actor = place.worker(works_long)
    beat = actor.beating()
    actor.poll("edit")
    beat.cancel()
    if fixed:
        assert acts == []
        assert place.world.job("j").status is JobStatus.COMPLETED
        assert place.world.task("j.s.edit").executions == 1
        assert place.violations() == []
    else:
        assert "reap" in acts
        assert "S6" in {found.invariant for found in place.violations()}
