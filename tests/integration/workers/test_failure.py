"""Failures (§2.1 rule 8): one commit first, then the message; at most three; deterministic ones never looped."""

import pytest

from mos.domain.errors import AppError, FailureClass, VeoError
from mos.domain.model import JobStatus, TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.simulation.actor import writes
from mos.workers.outcomes import Outcome

TASK = "j.s.edit"


def raises(error):
    def work(_):
        raise error

    return writes(b"", work)


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


def classed(failure_class):
    return AppError("no", code="said_no", details={"failureClass": str(failure_class)})


def hidden(world, queue="q-edit"):
    (message,) = world.sqs.peek(queue)
    return message.visible_at - world.now.timestamp()


def test_a_retryable_failure_queues_again_behind_the_same_delay_in_state_and_queue(submitted, actor):
    assert actor(edit=raises(VeoError("timeout"))).poll("edit") == [Outcome.RETRY]
    task = submitted.task(TASK)
    assert (task.status, task.failures, task.lease, task.attempt) == (TaskStatus.QUEUED, 1, None, 0)
    assert (task.error.failure_class, task.error.attempt) == (FailureClass.PROVIDER_TIMEOUT, 0)
    assert (task.not_before - submitted.now).total_seconds() == pytest.approx(30, abs=1)
    assert hidden(submitted) == pytest.approx(30, abs=1)


def test_the_delay_doubles_with_each_receive(submitted, actor):
    worker = actor(edit=raises(VeoError("timeout")))
    worker.poll("edit")
    submitted.runtime.sleep(31)
    assert worker.poll("edit") == [Outcome.RETRY]
    assert hidden(submitted) == pytest.approx(60, abs=1)


@pytest.mark.parametrize("error", [RuntimeError("boom"), classed(FailureClass.UNKNOWN)])
def test_the_third_failure_fails_task_shot_and_job_in_one_commit_and_acknowledges(submitted, actor, error):
    worker = actor(edit=raises(error))
    for pause in (31, 61, 0):
        outcomes = worker.poll("edit")
        submitted.runtime.sleep(pause)
    assert outcomes == [Outcome.FAILED]
    task, job = submitted.task(TASK), submitted.job("j")
    assert (task.status, task.failures) == (TaskStatus.FAILED, 3)
    assert (job.status, job.shots["s"].status, job.error.task_id) == (JobStatus.FAILED, "failed", TASK)
    assert submitted.sqs.peek("q-edit") == submitted.sqs.peek("q-edit-dlq") == []
    assert (job.error_count, len(submitted.documents("jobErrorEvents"))) == (3, 3)
    log = [entry for entry in submitted.documents("recoveryLog") if len(entry["changes"]) == 2]
    assert [line["path"] for line in log[-1]["changes"]] == [f"tasks/{TASK}", "jobs/j"]


@pytest.mark.parametrize(
    "failure_class",
    [FailureClass.TEMPLATE_UNAVAILABLE, FailureClass.PROVIDER_REJECTION, FailureClass.MEDIA_OR_TEMPLATE],
)
def test_a_deterministic_failure_is_never_looped(submitted, actor, failure_class):
    assert actor(edit=raises(classed(failure_class))).poll("edit") == [Outcome.FAILED]
    assert submitted.task(TASK).error.failure_class is failure_class
    assert submitted.sqs.peek("q-edit") == []
    assert submitted.documents("notifications")[0]["severity"] == "critical"


def test_when_the_queue_refuses_the_delay_the_message_still_comes_back(submitted, actor):
    def refuse(_):
        submitted.faults.add(Fault(kind=Kind.REFUSE, operation=Operation.EXTEND))
        raise VeoError("timeout")

    assert actor(edit=writes(b"", refuse)).poll("edit") == [Outcome.RETRY]
    assert hidden(submitted) == pytest.approx(300, abs=1)


def test_a_failure_at_the_last_permitted_receive_is_replaced_by_a_fresh_delayed_message(submitted, actor):
    for _ in range(2):
        submitted.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        submitted.runtime.sleep(301)
    assert actor(edit=raises(VeoError("timeout"))).poll("edit") == [Outcome.RETRY]
    (fresh,) = submitted.sqs.peek("q-edit")
    assert fresh.receive_count == 0
    assert hidden(submitted) == pytest.approx(120, abs=1)
    task = submitted.task(TASK)
    assert (task.send.state, task.send.message_id, task.attempt) == ("sent", fresh.message_id, 0)
    submitted.runtime.sleep(121)
    assert actor().poll("edit") == [Outcome.COMPLETED]


def test_when_the_fresh_message_is_not_accepted_the_outbox_keeps_it_for_the_reaper(submitted, actor):
    for _ in range(2):
        submitted.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        submitted.runtime.sleep(301)
    submitted.faults.add(Fault(kind=Kind.THROTTLE, operation=Operation.SEND, times=None))
    actor(edit=raises(VeoError("timeout"))).poll("edit")
    assert submitted.task(TASK).unsent


def test_jitter_only_ever_adds_to_the_delay(submitted, actor):
    actor(edit=raises(VeoError("timeout")), retry_jitter=0.5).poll("edit")
    delay = (submitted.task(TASK).not_before - submitted.now).total_seconds()
    assert 30 <= delay <= 45


def test_under_a_cancelled_job_a_failure_gives_the_task_back_to_its_job(submitted, actor):
    def cancelled(_):
        submitted.look.document("jobs/j").update({"status": "cancelled", "checkBy": "dispatch"})
        raise VeoError("timeout")

    assert actor(edit=writes(b"", cancelled)).poll("edit") == [Outcome.FAILED]
    task = submitted.task(TASK)
    assert (task.status, task.attempt) == (TaskStatus.PENDING, 1)
    assert submitted.sqs.peek("q-edit") == []


def test_the_failure_of_somebody_who_lost_the_task_changes_nothing_race_9(submitted, actor):
    def replaced(_):
        submitted.patch(TASK, **{"lease.token": "somebody-else"})
        raise VeoError("timeout")

    assert actor(edit=writes(b"", replaced)).poll("edit") == [Outcome.ABANDONED]
    task = submitted.task(TASK)
    assert (task.status, task.failures, task.lease.token) == (TaskStatus.RUNNING, 0, "somebody-else")
    assert len(submitted.sqs.peek("q-edit")) == 1


def test_a_hostile_error_text_is_stored_as_one_plain_line(submitted, actor):
    actor(edit=raises(RuntimeError("a\r\n\x1b[2Jb \ud800 \u202e" + "x" * 9000))).poll("edit")
    message = submitted.task(TASK).error.message
    assert len(message) <= 2000
    assert message.startswith("a ")
    assert not set(message) & set("\r\n\x1b\ud800\u202e")


def test_a_handler_that_returns_something_else_is_a_failure_with_its_name(submitted, actor):
    assert actor(edit=lambda _: None).poll("edit") == [Outcome.RETRY]
    assert submitted.task(TASK).error.code == "bad_output"


def test_an_empty_output_is_a_failure(submitted, actor):
    assert actor(edit=writes(b"")).poll("edit") == [Outcome.RETRY]
    assert submitted.task(TASK).error.code == "empty_output"
