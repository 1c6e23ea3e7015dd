"""What only a person can mend is said, set aside, and keeps nobody else from being looked at."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.model import TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.simulation.jobs import start_job
from mos.missions import base, observing
from mos.missions.base import Outcome
from tests.crash.mission_scenes import POLICY, claim, messages, mission_place
from tests.integration.missions.conftest import TICK, Place, quiet

__all__ = ["quiet"]

SHOTS = {"s": {"n": 1}}


@pytest.fixture
def place() -> Any:
    with mission_place() as entered:
        yield entered


def orphan(place: Place, *jobs: str) -> None:
    """Tasks whose worker and message are gone, due for the reaper."""
    for job in jobs:
        place.world.submit(job, "reap", SHOTS)
        claim(place.world, f"{job}.s.reap")
    place.lose("q-reap")
    place.world.runtime.sleep(2 * TICK)


def unsent(place: Place, *jobs: str) -> None:
    """Queued tasks whose sender died, due for the reaper."""
    for job in jobs:
        start_job(place.world.gateway, POLICY, job, "unsent", SHOTS)
    place.world.runtime.sleep(TICK)


def outcomes(report: base.Report) -> dict[str, Outcome]:
    return {result.subject: result.outcome for result in report.results}


BROKEN_JOBS = {"missing": None, "unreadable": {"status": "no status", "kind": "reap"}}


@pytest.mark.parametrize("make", [orphan, unsent], ids=["reap", "send"])
@pytest.mark.parametrize("job", BROKEN_JOBS)
def test_a_task_whose_job_cannot_be_used_is_set_aside_with_a_finding(place: Place, job: str, make: Any) -> None:
    make(place, "bad")
    document = place.world.look.document("jobs/bad")
    fields = BROKEN_JOBS[job]
    if fields is None:
        document.delete()
    else:
        document.set(fields)
    before = place.world.tasks()[0]
    report = place.reap()
    assert set(outcomes(report).values()) == {Outcome.FAILED}
    assert place.findings()["UNREADABLE_RECORD:jobs~bad"]["evidence"]["task"] == before.id
    after = place.world.tasks()[0]
    assert (after.status, after.attempt, after.reap_count) == (before.status, before.attempt, before.reap_count)
    assert not messages(place)
    assert after.check_at > place.world.now  # type: ignore[operator]


def test_such_tasks_do_not_take_every_act_of_every_tick(place: Place) -> None:
    """The oldest two can never be reaped; with two acts a tick the third has its turn at the next one."""
    orphan(place, "a", "b", "c")
    for job in ("a", "b"):
        place.world.look.document(f"jobs/{job}").delete()
    assert set(outcomes(place.reap(max_acts=2))) == {"a.s.reap", "b.s.reap"}
    place.world.runtime.sleep(TICK)
    assert outcomes(place.reap(max_acts=2)) == {"c.s.reap": Outcome.DONE}


def test_the_finding_stays_until_it_is_looked_at_again_and_goes_when_it_was_mended(place: Place) -> None:
    orphan(place, "bad")
    job = place.world.look.document("jobs/bad").get().to_dict()
    place.world.look.document("jobs/bad").delete()
    place.reap()
    place.ticks(5)
    assert place.findings()["UNREADABLE_RECORD:jobs~bad"]["occurrences"] == 1
    place.ticks(1)
    assert place.findings()["UNREADABLE_RECORD:jobs~bad"]["occurrences"] == 2
    place.world.look.document("jobs/bad").set(job)
    place.ticks(6)
    assert not place.findings()
    assert place.world.task("bad.s.reap").reap_count == 1


def test_the_messages_of_one_broken_queue_do_not_take_every_act(place: Place) -> None:
    """Their sends fail; they are left past the next tick, which belongs to the others."""
    unsent(place, "a", "b")
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND, queue="q-unsent", times=None))
    orphan(place, "c")
    assert set(outcomes(place.reap(max_acts=2)).values()) == {Outcome.FAILED}
    place.world.runtime.sleep(TICK)
    assert outcomes(place.reap(max_acts=2)) == {"c.s.reap": Outcome.DONE}
    place.world.faults.stop()
    place.ticks(2)
    assert messages(place) == {("a.s.unsent", 0): 1, ("b.s.unsent", 0): 1, ("c.s.reap", 1): 1}


def test_a_reap_whose_message_cannot_go_out_spends_one_reap_and_is_sent_by_the_next_tick(place: Place) -> None:
    orphan(place, "j")
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND, times=None))
    report = place.reap()
    assert outcomes(report) == {"j.s.reap": Outcome.DONE}
    assert "waits for the next tick" in report.results[0].detail
    place.world.faults.stop()
    place.ticks(1)
    assert messages(place) == {("j.s.reap", 1): 1}
    assert place.world.task("j.s.reap").reap_count == 1


def test_a_send_that_timed_out_though_it_was_done_is_done_once_more_and_no_more(place: Place) -> None:
    unsent(place, "j")
    place.world.faults.add(Fault(kind=Kind.LOSE_REPLY, operation=Operation.SEND, times=2))
    place.ticks(6)
    assert 1 <= messages(place)["j.s.unsent", 0] <= 3
    assert not place.world.task("j.s.unsent").unsent
    assert place.world.task("j.s.unsent").attempt == 0


def test_documents_that_are_not_the_reapers_are_passed_over_and_named(place: Place) -> None:
    """A render whose `checkBy` says reaper, at the head of the query: never touched, never hiding the rest."""
    orphan(place, "j")
    render = {"jobId": "j", "stepType": "render", "status": "running", "checkBy": "reaper"}
    for number in range(12):
        fields = render | {"checkAt": place.world.now.replace(year=2020)}
        place.world.look.document(f"tasks/r{number:02}").set(fields)
    report = place.reap(page=5)
    assert outcomes(report) == {"j.s.reap": Outcome.DONE}
    assert "never owns a render" in place.findings()["UNREADABLE_RECORD:tasks~r00"]["evidence"]["problem"]
    assert place.world.look.document("tasks/r00").get().get("status") == "running"


def test_when_such_documents_fill_every_page_the_pass_fails_loudly(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "MAX_PAGES", 2)
    orphan(place, "j")
    for number in range(6):
        fields = {"status": "running", "checkBy": "reaper", "checkAt": place.world.now.replace(year=2020)}
        place.world.look.document(f"tasks/bad{number}").set(fields)
    report = place.reap(page=2)
    assert report.failed_passes == ("running pass",)
    assert "mend them" in report.summary
    for number in range(4):
        place.world.look.document(f"tasks/bad{number}").delete()
    assert outcomes(place.reap(page=2)) == {"j.s.reap": Outcome.DONE}


@pytest.mark.parametrize("config", [{"paused": "yes"}, {"maxConcurrentJobs": "four"}, {"paused": True}])
def test_recovery_goes_on_whatever_the_configuration_says(place: Place, config: dict[str, Any]) -> None:
    """The reaper needs only the time of its first read; `paused` is dispatch's alone (law 12)."""
    place.world.look.document("config/production").set(config)
    orphan(place, "j")
    assert outcomes(place.reap()) == {"j.s.reap": Outcome.DONE}


def test_a_heartbeat_document_that_makes_no_sense_keeps_no_mission_from_running(place: Place) -> None:
    place.world.look.document("infraStatus/missions").set({"reaper": {"lastStartedAt": "yesterday"}, "dispatch": 7})
    orphan(place, "j")
    mission = place.reaper()
    assert not mission.superseded(place.world.now)
    assert outcomes(base.run(mission)) == {"j.s.reap": Outcome.DONE}


def test_an_owner_record_that_cannot_be_read_is_not_known_to_have_stopped(place: Place) -> None:
    place.world.submit("j", "reap", SHOTS)
    claim(place.world, "j.s.reap")
    place.lose("q-reap")
    place.world.look.document("workers/boot-a").set({"stoppedAt": "yes"})
    place.world.patch("j.s.reap", checkAt=place.world.now)
    assert [result.kind for result in place.reap().results] == ["leave"]
    assert place.world.task("j.s.reap").status is TaskStatus.RUNNING


def test_a_queue_that_cannot_be_read_fails_its_own_pass_and_its_work_waits_for_the_next_tick(place: Place) -> None:
    orphan(place, "j")
    unsent(place, "k")
    fault = Fault(kind=Kind.UNAVAILABLE, operation=Operation.OTHER, queue="q-reap", times=None)
    place.world.faults.add(fault)
    report = place.reap()
    assert report.failed_passes == ("queue q-reap",)
    assert outcomes(report) == {"j.s.reap": Outcome.DONE, "k.s.unsent": Outcome.DONE}
    assert place.world.task("j.s.reap").reap_count == 0
    assert "BACKLOG:queues~q-reap" not in place.findings()
    place.world.faults.stop()
    place.ticks(1)
    assert place.world.task("j.s.reap").reap_count == 1


def test_a_dead_letter_queue_that_cannot_be_read_hides_no_other(place: Place) -> None:
    for queue in ("q-reap-dlq", "q-late-dlq"):
        url = place.world.sqs.client().get_queue_url(QueueName=queue)["QueueUrl"]
        place.world.sqs.client().send_message(QueueUrl=url, MessageBody="lost")
    fault = Fault(kind=Kind.UNAVAILABLE, operation=Operation.OTHER, queue="q-late-dlq", times=None)
    place.world.faults.add(fault)
    report = place.reap()
    assert report.failed_passes == ("queue q-late-dlq",)
    assert set(place.findings()) == {"DEAD_LETTERS:queues~q-reap-dlq"}


def test_a_queued_task_under_a_job_that_ended_waits_for_it_and_nothing_is_sent(place: Place) -> None:
    """Whether its message was lost or never sent: the next attempt is its job's to start (§1.5)."""
    unsent(place, "never-sent")
    place.world.submit("lost", "resend", SHOTS)
    place.lose("q-resend")
    place.world.runtime.sleep(1900)
    for job in ("never-sent", "lost"):
        place.world.look.document(f"jobs/{job}").update({"status": "failed", "checkBy": "production-retry"})
    report = place.reap()
    assert set(outcomes(report).values()) == {Outcome.DONE}
    assert {(task.status, task.attempt) for task in place.world.tasks()} == {(TaskStatus.PENDING, 1)}
    assert not messages(place)


def test_a_stranding_is_recorded_as_a_job_error_once(place: Place) -> None:
    """§3.2: at the limit one commit fails the task, and then it is recorded."""
    orphan(place, "j")
    place.world.patch("j.s.reap", reapCount=3)
    place.reap()
    place.ticks(2)
    (event,) = place.world.documents("jobErrorEvents")
    assert (event["class"], event["code"], event["taskId"]) == ("stranded_pipeline", "stranded", "j.s.reap")
    assert place.world.documents("jobs")[0]["errorCount"] == 1


def test_a_sibling_that_cannot_be_read_keeps_nobody_from_failing_the_job(place: Place) -> None:
    orphan(place, "j")
    place.world.patch("j.s.reap", reapCount=3)
    place.world.look.document("tasks/j.t.reap").set({"jobId": "j", "status": "queued"})
    place.reap()
    assert place.world.task("j.s.reap").status is TaskStatus.FAILED
    assert "UNREADABLE_RECORD:tasks~j.t.reap" in place.findings()


def test_an_older_run_of_a_retried_message_does_not_make_the_backlog_look_lost(place: Place) -> None:
    """A message that came back ahead of a deep queue says nothing about those that wait in it (law 7)."""
    for job in ("a", "b", "c"):
        place.world.submit(job, "reap", SHOTS)
    claim(place.world, "a.s.reap")
    place.world.runtime.sleep(7200)
    now = place.world.now
    place.world.patch("a.s.reap", queuedAt=now, startedAt=now, executions=2, failures=1, checkAt=now.replace(year=2030))
    report = place.reap()
    assert {(result.kind, result.subject) for result in report.results} == {
        ("leave", "b.s.reap"),
        ("leave", "c.s.reap"),
    }
    assert place.world.task("b.s.reap").resends == 0
