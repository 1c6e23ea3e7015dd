"""Dispatch's commits: their fences, and what one broken document may not do to the others."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.errors import LawViolation
from mos.domain.model import JobStatus, TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.injected import grpc_error
from mos.missions import base
from mos.missions.base import Outcome
from mos.missions.cancel_job import cancel_job
from tests.crash.mission_scenes import claim, messages, mission_place
from tests.integration.missions.conftest import Place, quiet

__all__ = ["quiet"]


@pytest.fixture
def place() -> Any:
    with mission_place() as entered:
        yield entered


def planned(place: Place) -> Any:
    mission = place.dispatch()
    plan = mission.decide(mission.observe())
    return lambda: [(result.kind, result.outcome) for result in mission.act(plan)]


def cancelled(place: Place, job: str = "gone") -> None:
    place.world.submit(job, "chain", {"s": {"n": 1}})
    claim(place.world, f"{job}.s.reap")
    cancel_job(place.world.gateway, job, why="by hand")


def test_a_job_that_is_not_pending_any_more_is_not_started(place: Place) -> None:
    place.create("j", "reap")
    act = planned(place)
    place.world.look.document("jobs/j").update({"status": "cancelled"})
    assert act() == [("start", Outcome.OVERTAKEN)]
    assert place.world.task("j.s.reap").status is TaskStatus.PENDING


def test_a_job_that_is_not_cancelled_any_more_keeps_its_tasks(place: Place) -> None:
    cancelled(place)
    act = planned(place)
    place.world.look.document("jobs/gone").update({"status": "processing"})
    assert act() == [("cancel", Outcome.OVERTAKEN)]
    assert place.world.task("gone.s.reap").status is TaskStatus.RUNNING


def test_what_can_be_read_of_a_cancelled_job_is_cancelled_and_the_rest_keeps_it_due(place: Place) -> None:
    cancelled(place)
    place.world.look.document("tasks/gone.t.reap").set({"jobId": "gone", "status": "queued"})
    base.run(place.dispatch())
    assert place.world.look.document("tasks/gone.s.reap").get().get("status") == "cancelled"
    job = place.world.job("gone")
    assert job.check_by == "dispatch"
    assert job.check_at is not None
    assert job.check_at > place.world.now
    assert "UNREADABLE_RECORD:tasks~gone.t.reap" in place.findings()
    place.world.look.document("tasks/gone.t.reap").delete()
    place.world.runtime.sleep(600)
    base.run(place.dispatch())
    assert place.world.job("gone").check_by is None


def test_a_job_that_cannot_be_started_leaves_its_slot_to_the_next_and_is_a_finding_that_stays(place: Place) -> None:
    place.world.look.document("config/production").set({"maxConcurrentJobs": 1})
    place.create("bad", "reap")
    place.world.runtime.sleep(1)
    place.create("good", "reap")
    place.world.look.document("tasks/bad.s.reap").update({"attempt": "one"})
    report = base.run(place.dispatch())
    assert [(result.subject, result.outcome) for result in report.results] == [
        ("bad", Outcome.FAILED),
        ("good", Outcome.DONE),
    ]
    for _ in range(3):  # no slot is free now, so nobody looks at it; that does not mean that it was mended
        place.world.runtime.sleep(60)
        base.run(place.dispatch())
    assert "UNREADABLE_RECORD:tasks~bad.s.reap" in place.findings()


def test_a_job_that_a_law_refuses_to_start_is_a_finding_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.create("j", "reap")
    monkeypatch.setattr("mos.domain.laws.check_job", _refuse)
    (result,) = base.run(place.dispatch()).results
    assert result.outcome is Outcome.FAILED
    assert "UNREADABLE_RECORD:jobs~j" in place.findings()


def _refuse(*_: object) -> None:
    raise LawViolation("this must not be")


def test_a_start_whose_messages_cannot_go_out_is_a_start(place: Place) -> None:
    """The slot is taken, and the outbox says what is missing: not a failure, and no other job is started for it."""
    place.world.look.document("config/production").set({"maxConcurrentJobs": 1})
    for job in ("a", "b"):
        place.create(job, "reap")
        place.world.runtime.sleep(1)
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND, times=None))
    (result,) = base.run(place.dispatch()).results
    assert (result.subject, result.outcome) == ("a", Outcome.DONE)
    assert "left to the reaper" in result.detail
    assert place.world.job("b").status is JobStatus.PENDING
    place.world.faults.stop()
    place.ticks(1)
    assert messages(place) == {("a.s.reap", 0): 1}


@pytest.mark.parametrize("kind", ["voice_training", "reap"])
def test_a_pause_after_the_plan_holds_every_job_but_voice_training(place: Place, kind: str) -> None:
    place.create("j", "reap")
    place.world.look.document("jobs/j").update({"kind": kind})
    act = planned(place)
    place.world.look.document("config/production").set({"paused": True})
    assert act() == [("start", Outcome.DONE if kind == "voice_training" else Outcome.OVERTAKEN)]


def test_when_nobody_can_count_the_slots_nothing_starts(place: Place) -> None:
    place.create("j", "reap")
    mission = place.dispatch()
    plan = mission.decide(mission.observe())
    place.world.io = _no_queries
    assert mission.act(plan) == []
    assert mission.passes.failed
    place.world.io = lambda _, do: do()
    assert place.world.job("j").status is JobStatus.PENDING


def _no_queries(site: str, do: Any) -> Any:
    if site == "firestore.RunQuery":
        raise grpc_error("PERMISSION_DENIED")
    return do()
