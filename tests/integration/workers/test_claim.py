"""The claim table of §2.1 rule 3, row by row, through the queue and the state store."""

from datetime import timedelta

import pytest

from mos.domain.messages import TaskMessage
from mos.domain.model import IncidentStatus, JobStatus, TaskStatus
from mos.local.simulation.actor import writes
from mos.workers.outcomes import Outcome

TASK = "j.s.edit"


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


def lease(world, *, ends_in, owner="other"):
    """The fields of a task that somebody else runs."""
    expires = world.now + timedelta(seconds=ends_in)
    return {
        "status": "running",
        "lease": {"owner": owner, "token": "other-token", "renewedAt": world.now, "expiresAt": expires},
        "startedAt": world.now,
        "executions": 1,
        "checkBy": "reaper",
        "checkAt": expires + timedelta(seconds=120),
    }


def only_message(world, queue="q-edit"):
    (message,) = world.sqs.peek(queue)
    return message


def seconds_hidden(world, queue="q-edit"):
    return only_message(world, queue).visible_at - world.now.timestamp()


def receive_until(world, worker, count):
    """Let the message be received `count` times, each after its window, changing nothing."""
    for _ in range(count):
        worker.world.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        world.runtime.sleep(301)


def test_a_message_whose_task_does_not_exist_is_poison_and_stays_for_redrive(submitted, actor):
    submitted.look.document(f"tasks/{TASK}").delete()
    before = submitted.snapshot()
    assert actor().poll("edit") == [Outcome.POISON]
    assert only_message(submitted).receive_count == 1
    (event,) = submitted.documents("jobErrorEvents")
    assert event["details"]["field"] == "taskId"
    assert submitted.snapshot() == before


def test_a_message_of_an_attempt_from_the_future_is_poison(submitted, actor):
    submitted.sqs.drop("q-edit", only_message(submitted).message_id)
    task = submitted.task(TASK)
    body = TaskMessage.for_task(task).model_copy(update={"attempt": 4}).body()
    submitted.queues.send("q-edit", body, attributes={})
    assert actor().poll("edit") == [Outcome.POISON]
    assert submitted.documents("jobErrorEvents")[0]["details"]["field"] == "attempt"
    assert submitted.task(TASK) == task


@pytest.mark.parametrize("status", ["completed", "failed", "dead", "cancelled"])
def test_a_terminal_task_is_never_run_again_race_8(submitted, actor, status):
    submitted.patch(TASK, status=status)
    before = submitted.task(TASK)
    assert actor().poll("edit") == [Outcome.DROPPED]
    assert submitted.sqs.peek("q-edit") == []
    assert submitted.task(TASK) == before


def test_what_people_redrive_from_the_dead_letters_resurrects_nothing_race_18(submitted, actor):
    old = only_message(submitted).body
    worker = actor()
    worker.poll("edit")
    worker.poll("join")
    done = submitted.tasks()
    submitted.queues.send("q-edit", old, attributes={})
    assert worker.poll("edit") == [Outcome.DROPPED]
    assert submitted.tasks() == done
    assert submitted.sqs.peek("q-join") == []


def test_a_message_of_an_older_attempt_is_deleted(submitted, actor):
    submitted.patch(TASK, attempt=1)
    assert actor().poll("edit") == [Outcome.DROPPED]
    assert submitted.sqs.peek("q-edit") == []


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_under_a_job_that_stopped_nothing_is_run(submitted, actor, status):
    submitted.look.document("jobs/j").update({"status": status})
    assert actor().poll("edit") == [Outcome.DROPPED]
    assert submitted.task(TASK).status is TaskStatus.QUEUED


def test_a_task_is_not_run_before_its_back_off_ends_race_22(submitted, actor):
    submitted.patch(TASK, notBefore=submitted.now + timedelta(seconds=70))
    worker = actor()
    assert worker.poll("edit") == [Outcome.LATER]
    assert seconds_hidden(submitted) == pytest.approx(70, abs=1)
    submitted.runtime.sleep(71)
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_at_the_last_permitted_receive_a_message_that_must_wait_is_replaced(submitted, actor):
    worker = actor()
    receive_until(submitted, worker, 2)
    old = only_message(submitted).message_id
    submitted.patch(TASK, notBefore=submitted.now + timedelta(seconds=2000))
    assert worker.poll("edit") == [Outcome.LATER]
    fresh = only_message(submitted)
    assert (fresh.message_id == old, fresh.receive_count) == (False, 0)
    assert seconds_hidden(submitted) == pytest.approx(900, abs=1)
    assert submitted.sqs.peek("q-edit-dlq") == []


def test_a_claim_takes_a_lease_that_ends_before_the_window(submitted, actor):
    seen = []
    worker = actor(edit=writes(b"x", lambda _: seen.append((submitted.task(TASK), seconds_hidden(submitted)))))
    worker.poll("edit")
    ((task, hidden),) = seen
    assert (task.status, task.executions, task.attempt) == (TaskStatus.RUNNING, 1, 0)
    assert task.lease.owner == worker.parts.worker_id
    assert (task.lease.expires_at - submitted.now).total_seconds() == pytest.approx(285, abs=1)
    assert hidden == pytest.approx(300, abs=1)
    assert task.check_at - task.lease.expires_at == timedelta(seconds=120)


def test_a_claim_counts_an_unsent_task_as_sent(submitted, actor):
    submitted.patch(TASK, send={"state": "unsent", "at": submitted.now})
    seen = []
    actor(edit=writes(b"x", lambda _: seen.append(submitted.task(TASK).send.state))).poll("edit")
    assert seen == ["sent"]


def test_an_ended_lease_is_taken_over_and_counted(submitted, actor):
    submitted.patch(TASK, **lease(submitted, ends_in=-1))
    assert actor().poll("edit") == [Outcome.COMPLETED]
    task = submitted.task(TASK)
    assert (task.reap_count, task.executions) == (1, 2)


@pytest.mark.parametrize("ends_in", [-1, 200])
def test_the_lease_of_a_worker_that_said_it_stops_is_taken_over_at_once_uncounted(submitted, actor, ends_in):
    submitted.patch(TASK, **lease(submitted, ends_in=ends_in))
    now = submitted.now
    submitted.look.document("workers/other").set({"startedAt": now, "heartbeatAt": now, "stoppedAt": now})
    assert actor().poll("edit") == [Outcome.COMPLETED]
    task = submitted.task(TASK)
    assert (task.reap_count, task.executions) == (0, 2)


def test_a_live_lease_is_left_alone_and_its_duplicate_hidden_for_what_is_left_race_1(submitted, actor):
    submitted.patch(TASK, **lease(submitted, ends_in=100))
    before = submitted.task(TASK)
    assert actor().poll("edit") == [Outcome.DUPLICATE]
    assert submitted.task(TASK) == before
    assert 100 <= seconds_hidden(submitted) <= 111


def test_an_owner_whose_record_cannot_be_read_counts_as_alive(submitted, actor):
    submitted.patch(TASK, **lease(submitted, ends_in=100))
    submitted.look.document("workers/other").set({"startedAt": "long ago"})
    assert actor().poll("edit") == [Outcome.DUPLICATE]


def test_a_duplicate_at_the_last_permitted_receive_is_deleted(submitted, actor):
    worker = actor()
    receive_until(submitted, worker, 2)
    submitted.patch(TASK, **lease(submitted, ends_in=100))
    assert worker.poll("edit") == [Outcome.DROPPED]
    assert submitted.sqs.peek("q-edit") == submitted.sqs.peek("q-edit-dlq") == []


def test_waiting_costs_no_part_of_the_budget_race_3(submitted, actor):
    worker = actor()
    submitted.patch(TASK, notBefore=submitted.now + timedelta(seconds=60))
    worker.poll("edit")
    submitted.runtime.sleep(61)
    submitted.patch(TASK, **lease(submitted, ends_in=100))
    worker.poll("edit")
    task = submitted.task(TASK)
    assert worker.outcomes == [Outcome.LATER, Outcome.DUPLICATE]
    assert (task.reap_count, task.failures, task.executions) == (0, 0, 1)


@pytest.mark.parametrize("status", ["pending", "waiting"])
def test_a_message_that_comes_too_early_backs_off(submitted, actor, status):
    submitted.patch(TASK, status=status)
    assert actor().poll("edit") == [Outcome.LATER]
    assert seconds_hidden(submitted) == pytest.approx(30, abs=1)


def test_the_fourth_counted_takeover_fails_the_task_with_its_cascade(submitted, actor):
    submitted.patch(TASK, **lease(submitted, ends_in=-1) | {"reapCount": 3})
    assert actor().poll("edit") == [Outcome.SPENT]
    task, job = submitted.task(TASK), submitted.job("j")
    assert (task.status, task.error.failure_class) == (TaskStatus.FAILED, "stranded_pipeline")
    assert (job.status, job.shots["s"].status) == (JobStatus.FAILED, "failed")
    assert submitted.sqs.peek("q-edit") == []
    assert job.error_count == 1


def test_the_ninth_execution_makes_the_task_dead_and_asks_for_a_person(submitted, actor):
    submitted.patch(TASK, executions=8)
    assert actor().poll("edit") == [Outcome.SPENT]
    assert submitted.task(TASK).status is TaskStatus.DEAD
    assert submitted.job("j").production_incident.status is IncidentStatus.OPERATOR_REQUIRED


def test_a_spent_task_sends_its_queued_siblings_back_to_their_job(world, actor):
    world.submit("j", "chain", {"a": {"n": 1}, "b": {"n": 2}})
    world.patch("j.a.edit", executions=8)
    assert actor().poll("edit") == [Outcome.SPENT, Outcome.DROPPED]
    sibling = world.task("j.b.edit")
    assert (sibling.status, sibling.attempt) == (TaskStatus.PENDING, 1)
    assert world.job("j").status is JobStatus.FAILED


def test_a_message_without_attempt_is_attempt_zero(submitted, actor):
    submitted.sqs.drop("q-edit", only_message(submitted).message_id)
    submitted.queues.send("q-edit", '{"taskId": "j.s.edit", "jobId": "j", "stepType": "image-edit"}', attributes={})
    assert actor().poll("edit") == [Outcome.MALFORMED]
    submitted.runtime.sleep(301)
    submitted.queues.send("q-edit", '{"taskId": "j.s.edit", "jobId": "j", "stepType": "edit"}', attributes={})
    assert Outcome.COMPLETED in actor().poll("edit")


def test_a_message_that_names_another_job_is_poison(submitted, actor):
    submitted.sqs.drop("q-edit", only_message(submitted).message_id)
    submitted.submit("k", "chain", {"s": {"n": 2}})
    body = TaskMessage(task_id=TASK, job_id="k", step_type="edit").body()
    submitted.queues.send("q-edit", body, attributes={})
    assert sorted(actor().poll("edit")) == [Outcome.COMPLETED, Outcome.POISON]
    assert submitted.task(TASK).status is TaskStatus.QUEUED


def test_a_task_that_cannot_be_read_keeps_its_message_and_holds_up_nobody(submitted, actor):
    submitted.submit("k", "chain", {"s": {"n": 2}})
    submitted.patch(TASK, attempt="three")
    assert sorted(actor().poll("edit")) == [Outcome.COMPLETED, Outcome.LEFT]
    (event,) = submitted.documents("jobErrorEvents")
    assert (event["code"], event["details"]["field"]) == ("unreadable_record", f"tasks/{TASK}")
    (finding,) = submitted.documents("findings")
    assert (finding["code"], finding["subject"]) == ("UNREADABLE_RECORD", f"tasks/{TASK}")
    assert only_message(submitted).receive_count == 1


def test_the_correlation_id_of_the_message_is_kept_by_a_task_that_has_none(submitted, actor):
    submitted.patch(TASK, correlationId="")
    actor().poll("edit")
    assert submitted.task(TASK).correlation_id == "cor-j"
