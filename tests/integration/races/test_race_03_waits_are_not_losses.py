"""Race 3: the cap counts waits, and healthy work fails for standing in a queue."""

from __future__ import annotations

import pytest

from mos.domain.model import JobStatus
from mos.domain.staleness import Lost
from tests.integration.missions.conftest import Place, place, quiet

__all__ = ["place", "quiet"]


@pytest.mark.parametrize(("fixed", "ends_as"), [(True, JobStatus.COMPLETED), (False, JobStatus.FAILED)])
def test_race_03_a_night_in_the_queue_costs_no_budget(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool, ends_as: JobStatus
) -> None:
    """A worker dies, and its message stands in the queue for eight hours. Only the proven loss of its lease counts."""
    if not fixed:
        monkeypatch.setattr("mos.domain.reaping.lost_or_late", lambda *_, **__: Lost("it is old"))
    place.submit("j")
    place.claim_and_die()
    place.ticks(8 * 12)
    place.worker().poll()
    assert place.world.job("j").status is ends_as
    if fixed:
        task = place.world.task("j.s.edit")
        assert (task.reap_count, task.failures, task.executions) == (1, 0, 2)
        assert place.violations() == []
