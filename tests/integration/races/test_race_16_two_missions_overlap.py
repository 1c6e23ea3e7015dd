"""Race 16: two runs of one mission at the same time, whatever the scheduler's limit says."""

from __future__ import annotations

import pytest

from mos.domain.model import JobStatus
from mos.missions import base, dispatch, reaper_acts
from tests.integration.missions.conftest import TICK, Place, place, quiet

__all__ = ["place", "quiet"]


@pytest.mark.parametrize("fixed", [True, False])
def test_race_16_two_reapers_reap_once(place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool) -> None:
    """Both saw the orphan; the second finds that its fence does not match. Without fences it is reaped twice."""
    if not fixed:
        monkeypatch.setattr(reaper_acts, "_same", lambda current, act: current)
    place.submit("j")
    place.claim_and_die()
    place.lose()
    place.world.runtime.sleep(2 * TICK)
    missions = [place.reaper(), place.reaper()]
    plans = [mission.decide(mission.observe()) for mission in missions]
    for mission, plan in zip(missions, plans, strict=True):
        mission.act(plan)
    task = place.world.task("j.s.edit")
    assert ((task.attempt, task.reap_count, len(place.queued())) == (1, 1, 1)) is fixed


@pytest.mark.parametrize("fixed", [True, False])
def test_race_16_a_dispatch_that_stood_still_starts_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool
) -> None:
    """It counted a free slot; a whole other run happened before its start. The epoch tells. Without one: S8."""
    if not fixed:
        taken = dispatch.take_epoch(place.mission_client, place.world.runtime)
        monkeypatch.setattr(dispatch, "take_epoch", lambda *_: taken)
    place.world.look.document("config/production").set({"maxConcurrentJobs": 1})
    place.create("a")
    place.world.runtime.sleep(1)
    place.create("b")
    mission = place.dispatch()
    plan = mission.decide(mission.observe())
    place.world.runtime.sleep(1)
    place.world.look.document("jobs/a").update({"createdAt": place.world.now})  # for the other run, b is the oldest
    count = mission._processing

    def counts_and_stands_still() -> int:
        free = count()
        base.run(place.dispatch())
        return free

    monkeypatch.setattr(mission, "_processing", counts_and_stands_still)
    mission.act(plan)
    assert place.world.job("b").status is JobStatus.PROCESSING
    assert ([found.invariant for found in place.violations(max_concurrent_jobs=1)] == []) is fixed
