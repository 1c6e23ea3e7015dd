"""What the reaper does to each lost thing, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.errors import ExternalServiceError
from mos.domain.model import JobStatus, TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.missions import base
from mos.missions.base import Outcome
from tests.integration.missions.conftest import TICK, Place, place, quiet

__all__ = ["place", "quiet"]


def acts(report: base.Report) -> list[tuple[str, str, str]]:
    return [(one.kind, one.subject, str(one.outcome)) for one in report.results]


def finish(place: Place, rounds: int = 4) -> None:
    """Let a healthy worker work on what waits."""
    for _ in range(rounds):
        place.worker().poll()


def test_a_healthy_fleet_is_left_alone(place: Place) -> None:
    """Running work with live leases and fresh messages: no act, no document of a task or job changes."""
    place.submit("a", "b", "c")
    inside: list[base.Report] = []

    def look(_: Any) -> None:
        before = place.world.documents("tasks"), place.world.documents("jobs")
        inside.append(place.reap())
        assert (place.world.documents("tasks"), place.world.documents("jobs")) == before

    place.worker(look, concurrency=1).poll("edit")
    assert [acts(report) for report in inside] == [[]] * len(inside)
    assert inside
    assert not place.findings()


def test_a_killed_worker_whose_message_is_lost_too_is_reaped_once(place: Place) -> None:
    place.submit("j")
    place.claim_and_die()
    place.lose()
    reports = place.ticks(2)
    assert acts(reports[1]) == [("reap", "j.s.edit", "done")]
    task = place.world.task("j.s.edit")
    assert (task.status, task.attempt, task.reap_count, task.resends, task.lease) == (TaskStatus.QUEUED, 1, 1, 0, None)
    assert not task.unsent
    assert len(place.queued()) == 1
    finish(place)
    assert place.world.job("j").status is JobStatus.COMPLETED
    assert place.violations() == []


def test_a_killed_worker_whose_message_comes_back_is_not_reaped(place: Place) -> None:
    """The redelivered message waits in the queue: late, not lost."""
    place.submit("j")
    place.claim_and_die()
    place.ticks(6)
    task = place.world.task("j.s.edit")
    assert (task.status, task.attempt, task.reap_count) == (TaskStatus.RUNNING, 0, 0)
    finish(place)
    assert place.world.job("j").status is JobStatus.COMPLETED


def test_an_announced_stop_is_reaped_at_once_and_not_counted(place: Place) -> None:
    """A worker that said it stops: nobody waits for the grace, and only the execution is spent (law 9)."""
    place.submit("j")
    place.claim_and_die()
    place.lose()
    owner = place.world.task("j.s.edit").lease.owner  # type: ignore[union-attr]
    now = place.world.now
    place.world.look.document(f"workers/{owner}").set({"startedAt": now, "heartbeatAt": now, "stoppedAt": now})
    place.ticks(2)
    task = place.world.task("j.s.edit")
    assert (task.attempt, task.reap_count, task.executions) == (1, 0, 1)


def test_a_lost_message_is_sent_again_as_the_same_attempt(place: Place) -> None:
    place.submit("j")
    place.lose()
    reports = place.ticks(7)
    assert [act for report in reports for act in acts(report) if act[0] != "leave"] == [("resend", "j.s.edit", "done")]
    task = place.world.task("j.s.edit")
    assert (task.attempt, task.reap_count, task.resends) == (0, 0, 1)
    finish(place)
    assert place.world.job("j").status is JobStatus.COMPLETED


def test_three_resends_without_a_claim_end_as_stranded(place: Place) -> None:
    """Then job, shot and task fail in one commit, with a class, a notification and an error event."""
    place.submit("j")
    place.ticks(40, place.lose)
    task, job = place.world.task("j.s.edit"), place.world.job("j")
    assert (task.status, task.resends) == (TaskStatus.FAILED, 3)
    assert (job.status, job.shots["s"].status) == (JobStatus.FAILED, "failed")
    assert job.error is not None
    assert job.error.failure_class == "stranded_pipeline"
    assert (job.check_by, len(place.log("strand"))) == ("production-retry", 1)
    assert len(place.told.texts) == 1
    assert place.violations() == []


def test_the_fourth_lost_lease_ends_as_stranded(place: Place) -> None:
    place.submit("j")
    for _ in range(4):
        place.claim_and_die()
        place.lose()
        place.ticks(2)
    task = place.world.task("j.s.edit")
    assert (task.status, task.reap_count, task.executions) == (TaskStatus.FAILED, 3, 4)
    assert place.world.job("j").status is JobStatus.FAILED
    assert place.violations() == []


def test_the_joint_budget_of_executions_ends_in_dead_and_a_person(place: Place) -> None:
    """Announced losses count no reap; eight executions are the end (law 9)."""
    place.submit("j")
    place.claim_and_die()
    place.world.patch("j.s.edit", executions=8)
    place.lose()
    place.ticks(2)
    assert place.world.task("j.s.edit").status is TaskStatus.DEAD
    incident = place.world.job("j").production_incident
    assert incident is not None
    assert incident.status == "operator_required"
    assert place.violations() == []


def test_an_unsent_message_is_sent_after_its_grace(place: Place) -> None:
    place.create("j")
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND))
    base.run(place.dispatch())
    assert place.world.task("j.s.edit").unsent
    assert acts(place.reap()) == []
    (report,) = place.ticks(1)
    assert acts(report) == [("send", "j.s.edit", "done")]
    task = place.world.task("j.s.edit")
    assert (task.unsent, task.attempt, task.resends, task.reap_count) == (False, 0, 0, 0)
    assert len(place.queued()) == 1


def test_a_reaped_message_has_exactly_the_shape_of_its_producer(place: Place) -> None:
    place.submit("j")
    (first,) = place.world.sqs.peek("q-edit")
    place.claim_and_die()
    place.lose()
    place.ticks(2)
    (second,) = place.world.sqs.peek("q-edit")
    assert second.body == first.body.replace('"attempt":0', '"attempt":1').replace('"attempt": 0', '"attempt": 1')
    assert second.receive_count == 0


def test_under_a_job_that_is_not_processing_an_orphan_waits_for_it(place: Place) -> None:
    place.submit("j")
    place.claim_and_die()
    place.lose()
    place.world.look.document("jobs/j").update({"status": "failed", "checkBy": "production-retry"})
    place.ticks(2)
    task = place.world.task("j.s.edit")
    assert (task.status, task.attempt, place.queued()) == (TaskStatus.PENDING, 1, [])


def test_a_backlog_is_reported_and_closed_again(place: Place) -> None:
    place.submit("a", "b", "c")
    place.ticks(8)
    found = place.findings()
    assert found["BACKLOG:queues~q-edit"]["evidence"]["tasks"] == 3
    assert "NO_WORKERS:queues~q-edit" in found
    first = found["BACKLOG:queues~q-edit"]["firstSeen"]
    place.ticks(3)
    assert place.findings()["BACKLOG:queues~q-edit"]["firstSeen"] == first
    finish(place)
    place.ticks(7)
    assert not place.findings()
    assert place.log("resend") == []


def test_workers_that_live_are_not_reported_absent(place: Place) -> None:
    place.submit("a")
    place.ticks(5)
    place.worker().announce()
    place.ticks(2, lambda: place.worker().announce())
    assert set(place.findings()) == {"BACKLOG:queues~q-edit"}


def test_dead_letters_are_a_finding_in_the_same_tick_and_are_never_touched(place: Place) -> None:
    place.world.sqs.client().send_message(QueueUrl=_url(place, "q-join-dlq"), MessageBody="lost")
    place.reap()
    assert place.findings()["DEAD_LETTERS:queues~q-join-dlq"]["evidence"] == {"messages": 1}
    assert place.queued("q-join-dlq") == ["lost"]
    place.lose("q-join-dlq")
    place.ticks(1)
    assert not place.findings()


def _url(place: Place, queue: str) -> str:
    return str(place.world.sqs.client().get_queue_url(QueueName=queue)["QueueUrl"])


def test_unreadable_documents_are_reported_and_hide_nobody(place: Place) -> None:
    """Forty documents that cannot be read stand before the one that can: pages go on behind them."""
    now = place.world.now
    batch = place.world.look.batch()
    for number in range(40):
        path = f"tasks/bad-{number:02}"
        batch.set(place.world.look.document(path), {"status": "running", "checkBy": "reaper", "checkAt": now})
    batch.commit()
    place.submit("j")
    place.claim_and_die()
    place.lose()
    place.world.runtime.sleep(2 * TICK)
    report = place.reap(page=10)
    assert ("reap", "j.s.edit", "done") in acts(report)
    assert sum(name.startswith("UNREADABLE_RECORD") for name in place.findings()) == 40


def test_never_more_acts_than_the_limit_and_the_rest_stays_due(place: Place) -> None:
    place.submit(*(f"j{number}" for number in range(5)))
    for _ in range(5):
        place.claim_and_die()
    place.lose()
    place.world.runtime.sleep(2 * TICK)
    first, second = place.reap(max_acts=3), place.reap(max_acts=3)
    assert (len(first.results), len(second.results)) == (3, 2)
    assert any("wait for the next tick" in note for note in first.notes)


def test_a_dry_run_writes_nothing_at_all(place: Place) -> None:
    place.submit("j")
    place.claim_and_die()
    place.lose()
    place.world.runtime.sleep(2 * TICK)
    before = place.world.snapshot()
    report = base.run(place.reaper(), dry_run=True)
    assert [row["act"] for row in report.rows()] == ["reap"]
    assert place.world.snapshot() == before
    assert place.queued() == []


def test_the_heartbeat_tells_start_end_and_result(place: Place) -> None:
    place.reap()
    beat = place.world.look.document("infraStatus/missions").get().to_dict()["reaper"]  # type: ignore[index]
    assert beat["lastStartedAt"] <= beat["lastFinishedAt"]
    assert beat["lastResult"] == "nothing was due"


def test_a_run_is_stale_when_another_started_after_it_was_due(place: Place) -> None:
    due = place.world.now
    place.world.runtime.sleep(10)
    assert not place.reaper().superseded(due)
    own = place.reaper()
    base.run(own)
    assert place.reaper().superseded(due)
    assert not own.superseded(due)
    place.world.runtime.sleep(10)
    assert not place.reaper().superseded(place.world.now)


def test_two_reapers_at_once_do_no_more_than_one(place: Place) -> None:
    place.submit("a", "b")
    place.claim_and_die()
    place.claim_and_die()
    place.lose()
    place.world.runtime.sleep(2 * TICK)
    one, two = place.reaper(), place.reaper()
    plans = [mission.decide(mission.observe()) for mission in (one, two)]
    results = [mission.act(plan) for mission, plan in zip((one, two), plans, strict=True)]
    assert [{result.outcome for result in group} for group in results] == [{Outcome.DONE}, {Outcome.OVERTAKEN}]
    assert len(place.queued()) == 2
    assert {task.reap_count for task in place.world.tasks()} == {1}


def test_a_notification_that_cannot_be_sent_waits_for_the_next_tick(place: Place) -> None:
    place.submit("j")
    place.told.down = ExternalServiceError("the webhook did not answer", service="webhook")
    place.ticks(40, place.lose)
    assert place.world.job("j").status is JobStatus.FAILED
    assert place.told.texts == []
    place.told.down = None
    place.ticks(2)
    assert len(place.told.texts) == 1


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_queue_that_cannot_be_read_fails_the_run_and_stops_nothing_else(place: Place, dry_run: bool) -> None:
    """What is unsent is sent, what may be lost is left; a dry run tells of the failed pass too."""
    place.create("unsent")
    mission = place.dispatch()
    mission.queues = None  # type: ignore[assignment] - nothing can be sent
    base.run(mission)
    place.world.runtime.sleep(TICK)
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.OTHER, queue="q-join-dlq", times=None))
    report = base.run(place.reaper(), dry_run=dry_run)
    assert report.failed_passes == ("queue q-join-dlq",)
    assert "pass failed: queue q-join-dlq" in report.summary
    assert [row["act"] for row in report.rows()] == ["send"]
    assert len(place.queued()) == (0 if dry_run else 1)
