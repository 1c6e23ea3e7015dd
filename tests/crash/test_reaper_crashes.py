"""SIGKILL at every I/O call of a reaper's tick, before and after it took effect; then the next ticks finish."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.model import JobStatus, TaskStatus
from mos.local.simulation.crashes import CrashPoint, crash_points
from mos.local.simulation.jobs import start_job
from tests.crash.mission_scenes import POLICY, claim, crash, messages, mission_place, where
from tests.integration.missions.conftest import TICK, Place, quiet

__all__ = ["quiet"]

SHOTS = {"s": {"n": 1}}


def scene(place: Place) -> None:
    """One task for each act: to reap, to send again, to send, to strand, to leave; and a notification that waits."""
    world = place.world
    for step in ("reap", "resend", "strand", "late"):
        world.submit(step, step, SHOTS)
    claim(world, "reap.s.reap")
    for step in ("reap", "resend", "strand"):
        place.lose(f"q-{step}")
    world.patch("strand.s.strand", resends=3)
    start_job(world.gateway, POLICY, "unsent", "unsent", SHOTS)
    note = {"jobId": "old", "class": "unknown", "code": "x", "createdAt": world.now, "send": {"state": "unsent"}}
    world.look.document("notifications/old").set(note)
    world.runtime.sleep(1900)


def run(point: CrashPoint, locking: str | None = None) -> None:
    with mission_place(locking) as place:
        scene(place)
        crash(place, place.reaper(), point)
        place.ticks(3)
        check(place, where(point))


def check(place: Place, at: str) -> None:
    """Everything was done: once in the state, at least once in the queues; no budget was spent twice."""
    world = place.world
    tasks = {task.job_id: task for task in world.tasks()}
    assert {job: (task.status, task.attempt, task.reap_count, task.resends) for job, task in tasks.items()} == {
        "reap": (TaskStatus.QUEUED, 1, 1, 0),
        "resend": (TaskStatus.QUEUED, 0, 0, 1),
        "unsent": (TaskStatus.QUEUED, 0, 0, 0),
        "strand": (TaskStatus.FAILED, 0, 0, 3),
        "late": (TaskStatus.QUEUED, 0, 0, 0),
    }, at
    assert not any(task.unsent for task in tasks.values()), at
    sent = messages(place)
    assert set(sent) == {("reap.s.reap", 1), ("resend.s.resend", 0), ("unsent.s.unsent", 0), ("late.s.late", 0)}, at
    assert all(count <= 2 for count in sent.values()), (at, sent)
    assert sum(sent.values()) <= len(sent) + 1, (at, sent)
    assert world.job("strand").status is JobStatus.FAILED, at
    assert {len(place.log(act)) for act in ("reap", "resend", "strand")} == {1}, at
    assert 2 <= len(place.told.texts) <= 3, at
    assert "BACKLOG:queues~q-late" in place.findings(), at
    assert place.violations() == [], at
    assert _heartbeat(place)["lastFinishedAt"] > _heartbeat(place)["lastStartedAt"], at


def _heartbeat(place: Place) -> dict[str, Any]:
    return place.world.look.document("infraStatus/missions").get().to_dict()["reaper"]  # type: ignore[index]


def calls(locking: str | None = None) -> int:
    counting = CrashPoint()
    run(counting, locking)
    return len(counting.sites)


def test_a_crash_at_a_sample_of_calls_is_finished_by_the_next_ticks() -> None:
    total = calls()
    assert total >= 40
    for point in list(crash_points(total))[::9]:
        run(point)


@pytest.mark.prove
@pytest.mark.parametrize("locking", ["optimistic", "pessimistic"])
def test_a_crash_at_any_call_is_finished_by_the_next_ticks(locking: str) -> None:
    for point in crash_points(calls(locking)):
        run(point, locking)


def test_a_reaper_that_is_killed_again_and_again_gets_through_all_the_same() -> None:
    """Each tick dies a little later than the one before: work that was done is not done again."""
    with mission_place() as place:
        scene(place)
        for at in range(5, 40, 5):
            crash(place, place.reaper(), CrashPoint(at))
            place.world.runtime.sleep(TICK)
        place.ticks(4)
        assert {task.reap_count for task in place.world.tasks()} == {0, 1}
        assert max(task.resends for task in place.world.tasks() if task.job_id != "strand") <= 2
        assert place.violations() == []


def test_two_ticks_at_once_that_both_die_half_way_spend_nothing_twice() -> None:
    with mission_place() as place:
        scene(place)
        one, two = place.reaper(), place.reaper()
        plans = [mission.decide(mission.observe()) for mission in (one, two)]
        for mission, plan in zip((one, two), plans, strict=True):
            point = CrashPoint(12)
            place.world.io = point
            with pytest.raises(BaseException):  # noqa: B017, PT011 - the crash may come out masked
                mission.act(plan)
            place.world.io = lambda _, do: do()
        place.ticks(3)
        check(place, "two at once")
