"""What dispatch starts, in which order, and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.errors import ConflictError, PipelineStateError, ValidationError
from mos.domain.jobs import JobRequest
from mos.domain.model import JobStatus, TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.injected import grpc_error
from mos.missions import base
from mos.missions.base import Outcome
from mos.missions.cancel_job import cancel_job
from mos.missions.create_job import create_job
from tests.integration.missions.conftest import TICK, Place, place, quiet

__all__ = ["place", "quiet"]


def statuses(place: Place) -> dict[str, str]:
    return {one["id"]: one["status"] for one in place.world.documents("jobs")}


def configure(place: Place, **fields: Any) -> None:
    place.world.look.document("config/production").set(fields, merge=True)


def test_the_oldest_pending_jobs_start_up_to_the_free_slots(place: Place) -> None:
    configure(place, maxConcurrentJobs=2)
    for name in ("third", "first", "second"):
        place.create(name)
        place.world.runtime.sleep(1)
    base.run(place.dispatch())
    assert statuses(place) == {"third": "processing", "first": "processing", "second": "pending"}
    assert len(place.queued()) == 2
    assert {task.unsent for task in place.world.tasks()} == {False}
    base.run(place.dispatch())
    assert statuses(place)["second"] == "pending"
    place.worker().poll()
    base.run(place.dispatch())
    assert statuses(place)["second"] == "processing"
    assert place.violations(max_concurrent_jobs=2) == []


def test_a_paused_system_starts_nothing_and_still_cancels(place: Place) -> None:
    configure(place, paused=True)
    place.create("waits")
    place.create("unwanted")
    cancel_job(place.world.gateway, "unwanted", why="not needed")
    report = base.run(place.dispatch())
    assert statuses(place) == {"waits": "pending", "unwanted": "cancelled"}
    assert {task.id: task.status for task in place.world.tasks()}["unwanted.s.edit"] == "cancelled"
    assert any("paused" in note for note in report.notes)
    assert place.queued() == []


def test_a_pause_between_plan_and_start_holds_the_start(place: Place) -> None:
    """S18: each start checks `paused` in its own transaction."""
    place.create("j")
    mission = place.dispatch()
    plan = mission.decide(mission.observe())
    configure(place, paused=True)
    results = mission.act(plan)
    assert {result.outcome for result in results} <= {Outcome.OVERTAKEN}
    assert statuses(place) == {"j": "pending"}


@pytest.mark.parametrize("fields", [{"paused": "yes"}, {"maxConcurrentJobs": "4"}, {"maxConcurrentJobs": -1}])
def test_a_configuration_that_cannot_be_read_starts_nothing_and_is_a_finding(
    place: Place, fields: dict[str, Any]
) -> None:
    configure(place, **fields)
    place.create("j")
    base.run(place.dispatch())
    assert statuses(place) == {"j": "pending"}
    assert "UNREADABLE_RECORD:config~production" in place.findings()
    configure(place, paused=False, maxConcurrentJobs=4)
    base.run(place.dispatch())
    assert statuses(place) == {"j": "processing"}
    assert not place.findings()


def test_every_task_whose_dependencies_are_completed_is_queued(place: Place) -> None:
    """After a repair these need not be the roots."""
    place.create("j", "chain")
    place.world.patch("j.s.edit", status="completed")
    base.run(place.dispatch())
    assert place.world.task("j.s.join").status is TaskStatus.QUEUED
    assert (place.queued("q-edit"), len(place.queued("q-join"))) == ([], 1)


def test_two_runs_at_once_never_over_commit(place: Place) -> None:
    configure(place, maxConcurrentJobs=2)
    for number in range(6):
        place.create(f"j{number}")
    missions = [place.dispatch(), place.dispatch()]
    plans = [mission.decide(mission.observe()) for mission in missions]
    for mission, plan in zip(missions, plans, strict=True):
        mission.act(plan)
    assert sum(status == "processing" for status in statuses(place).values()) == 2
    assert place.violations(max_concurrent_jobs=2) == []


def test_voice_training_holds_no_slot(place: Place) -> None:
    configure(place, maxConcurrentJobs=1)
    place.submit("v")
    place.world.look.document("jobs/v").update({"kind": "voice_training"})
    place.create("j")
    base.run(place.dispatch())
    assert statuses(place) == {"v": "processing", "j": "processing"}


def test_messages_that_could_not_go_out_are_the_reapers(place: Place) -> None:
    place.create("j")
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND))
    report = base.run(place.dispatch())
    assert report.failed_passes == ()
    assert place.world.task("j.s.edit").unsent
    place.ticks(1)
    assert len(place.queued()) == 1


def test_a_cancelled_jobs_running_task_loses_its_lease(place: Place) -> None:
    """Its worker's late completion changes nothing."""
    place.submit("j")

    def cancel_meanwhile(_: Any) -> None:
        cancel_job(place.world.gateway, "j", why="not needed")
        base.run(place.dispatch())

    place.worker(cancel_meanwhile).poll("edit")
    task = place.world.task("j.s.edit")
    assert (task.status, task.lease) == (TaskStatus.CANCELLED, None)
    assert place.world.job("j").check_by is None
    assert place.violations() == []


def test_cancelling_twice_is_once_and_a_completed_job_cannot_be_cancelled(place: Place) -> None:
    place.submit("j", "done")
    assert cancel_job(place.world.gateway, "j", why="no").changed
    assert not cancel_job(place.world.gateway, "j", why="no").changed
    task = place.world.task("j.s.edit")
    assert (task.status, task.attempt) == (TaskStatus.PENDING, 1)
    place.worker().poll()
    with pytest.raises(PipelineStateError, match="completed"):
        cancel_job(place.world.gateway, "done", why="no")
    with pytest.raises(ValidationError, match="there is no job"):
        cancel_job(place.world.gateway, "nobody", why="no")


def test_a_dry_run_takes_no_epoch(place: Place) -> None:
    place.create("j")
    before = place.world.snapshot()
    report = base.run(place.dispatch(), dry_run=True)
    assert [row["act"] for row in report.rows()] == ["start"]
    assert place.world.snapshot() == before


def test_an_unreadable_job_keeps_no_other_from_starting(place: Place) -> None:
    now = place.world.now
    place.world.look.document("jobs/bad").set({"status": "pending", "kind": 7, "createdAt": now})
    place.create("j")
    base.run(place.dispatch())
    assert statuses(place)["j"] == "processing"
    assert "UNREADABLE_RECORD:jobs~bad" in place.findings()


def request(**fields: Any) -> JobRequest:
    given: dict[str, Any] = {"job_id": "j", "kind": "chain", "shots": {"s": {"n": 1}}, "correlation_id": "c"}
    return JobRequest(**(given | fields))


def test_creating_a_job_twice_is_creating_it_once(place: Place) -> None:
    """One commit; the second call answers the existing job, also after it has moved on."""
    first = create_job(place.world.gateway, place.world.policy, request())
    assert (first.changed, len(place.log("create_job"))) == (True, 1)
    base.run(place.dispatch())
    before = place.world.snapshot()
    again = create_job(place.world.gateway, place.world.policy, request())
    assert (again.changed, again.value.status) == (False, JobStatus.PROCESSING)
    assert place.world.snapshot() == before


@pytest.mark.parametrize(
    "other",
    [{"kind": "single"}, {"shots": {"t": {"n": 1}}}, {"owner_id": "somebody"}, {"shots": {"s": {"n": 2}}}],
    ids=["kind", "shots", "owner", "input"],
)
def test_another_request_under_the_same_id_is_a_conflict(place: Place, other: dict[str, Any]) -> None:
    create_job(place.world.gateway, place.world.policy, request())
    with pytest.raises(ConflictError, match="another"):
        create_job(place.world.gateway, place.world.policy, request(**other))


def test_a_store_that_does_not_answer_leaves_nothing_half_done(place: Place) -> None:
    """The run says which passes failed, and the next one does what is left."""
    place.create("j")

    def away(site: str, do: Any) -> Any:
        if site == "firestore.Commit":
            raise grpc_error("PERMISSION_DENIED")
        return do()

    place.world.io = away
    report = base.run(place.dispatch())
    assert "epoch" in report.failed_passes
    place.world.io = lambda _, do: do()
    assert statuses(place) == {"j": "pending"}
    place.world.runtime.sleep(TICK)
    assert base.run(place.dispatch()).failed_passes == ()
    assert statuses(place) == {"j": "processing"}
