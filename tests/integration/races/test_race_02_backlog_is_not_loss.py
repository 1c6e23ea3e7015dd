"""Race 2: the backlog is longer than the pickup time, and each tick enqueues what waits once more."""

from __future__ import annotations

import pytest

from mos.domain.model import JobStatus
from mos.domain.staleness import Lost
from tests.integration.missions.conftest import Place, place, quiet

__all__ = ["place", "quiet"]

HOURS = 12
"""Ticks an hour."""


@pytest.mark.parametrize("fixed", [True, False])
def test_race_02_what_waits_in_a_deep_queue_is_never_sent_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool
) -> None:
    """The queue's own books tell late from lost. Without asking them, every message doubles each pickup time."""
    if not fixed:
        monkeypatch.setattr("mos.domain.reaping.lost_or_late", lambda *_, **__: Lost("it is old"))
    place.submit("a", "b", "c")
    place.ticks(1 * HOURS)
    assert (len(place.queued()) == 3) is fixed
    assert ({task.resends for task in place.world.tasks()} == {0}) is fixed
    if fixed:
        assert "BACKLOG:queues~q-edit" in place.findings()
        place.worker().poll()
        assert {place.world.job(name).status for name in "abc"} == {JobStatus.COMPLETED}
