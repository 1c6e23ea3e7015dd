"""Race 5: a task that is queued and carries an old `startedAt` is seen by neither pass."""

from __future__ import annotations

import pytest

from mos.domain import reaping
from mos.domain.model import JobStatus, TaskStatus
from tests.integration.missions.conftest import Place, place, quiet

__all__ = ["place", "quiet"]


@pytest.mark.parametrize(("fixed", "ends_as"), [(True, JobStatus.COMPLETED), (False, JobStatus.PROCESSING)])
def test_race_05_the_queued_pass_counts_from_queued_at(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool, ends_as: JobStatus
) -> None:
    """A reaped task keeps `startedAt`; its new message is lost too. A pass that takes it for started never looks."""
    if not fixed:
        whole = reaping._queued
        monkeypatch.setattr(
            reaping, "_queued", lambda task, *rest: whole(task, *rest) if task.started_at is None else None
        )
    place.submit("j")
    place.claim_and_die()
    place.lose()
    place.ticks(2)
    task = place.world.task("j.s.edit")
    assert task.status is TaskStatus.QUEUED
    assert task.started_at is not None
    place.lose()
    for _ in range(3 * 12):
        place.ticks(1)
        place.worker().poll()
    assert place.world.job("j").status is ends_as
