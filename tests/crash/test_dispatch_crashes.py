"""SIGKILL at every I/O call of a tick of dispatch; then the next tick, and the reaper's, finish the work."""

from __future__ import annotations

import pytest

from mos.domain.model import JobStatus, TaskStatus
from mos.local.simulation.crashes import CrashPoint, crash_points
from mos.missions import base
from mos.missions.cancel_job import cancel_job
from tests.crash.mission_scenes import claim, crash, messages, mission_place, where
from tests.integration.missions.conftest import Place, quiet

__all__ = ["quiet"]

SLOTS = 2


def scene(place: Place) -> None:
    """Three pending jobs for two slots, and a cancelled one with a running and a waiting task."""
    place.world.look.document("config/production").set({"paused": False, "maxConcurrentJobs": SLOTS})
    place.world.submit("gone", "chain", {"s": {"n": 1}})
    claim(place.world, "gone.s.reap")
    cancel_job(place.world.gateway, "gone", why="by hand")
    place.lose("q-reap")
    for job in ("a", "b", "c"):
        place.create(job, "chain")
        place.world.runtime.sleep(1)


def run(point: CrashPoint, locking: str | None = None) -> None:
    with mission_place(locking) as place:
        scene(place)
        crash(place, place.dispatch(), point)
        for _ in range(2):
            place.world.runtime.sleep(60)
            base.run(place.dispatch())
            place.reap()
        check(place, where(point))


def check(place: Place, at: str) -> None:
    """The two oldest run, the third waits, the cancelled one has ended; each message is there once, or once more."""
    world = place.world
    assert [world.job(job).status for job in ("a", "b", "c", "gone")] == [
        JobStatus.PROCESSING,
        JobStatus.PROCESSING,
        JobStatus.PENDING,
        JobStatus.CANCELLED,
    ], at
    assert {task.status for task in world.tasks() if task.job_id == "gone"} == {TaskStatus.CANCELLED}, at
    assert world.job("gone").check_by is None, at
    first = [world.task(f"{job}.s.reap") for job in ("a", "b")]
    assert [(task.status, task.attempt, task.unsent) for task in first] == [(TaskStatus.QUEUED, 0, False)] * 2, at
    sent = messages(place)
    assert set(sent) == {("a.s.reap", 0), ("b.s.reap", 0)}, at
    assert sum(sent.values()) <= 3, at
    assert [len(place.log(act)) for act in ("start_job", "cancel_tasks")] == [2, 1], at
    assert place.violations(max_concurrent_jobs=SLOTS) == [], at


def calls(locking: str | None = None) -> int:
    counting = CrashPoint()
    run(counting, locking)
    return len(counting.sites)


def test_a_crash_at_a_sample_of_calls_is_finished_by_the_next_tick() -> None:
    total = calls()
    assert total >= 15
    for point in list(crash_points(total))[::7]:
        run(point)


@pytest.mark.prove
@pytest.mark.parametrize("locking", ["optimistic", "pessimistic"])
def test_a_crash_at_any_call_is_finished_by_the_next_tick(locking: str) -> None:
    for point in crash_points(calls(locking)):
        run(point, locking)
