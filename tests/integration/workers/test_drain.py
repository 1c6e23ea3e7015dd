"""Drain-reset (§2.2): join the work, then the state, then the message."""

import pytest
from google.cloud.firestore import DELETE_FIELD

from mos.domain.model import TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.inprocess import grpc_error
from mos.local.simulation.actor import writes
from mos.workers.flight import Stop
from mos.workers.outcomes import Outcome

TASK = "j.s.edit"


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


@pytest.fixture
def drained(submitted, actor):
    """A worker that is told to drain while it works; `before` happens first."""

    def make(before=lambda: None):
        def work(context):
            before()
            worker.process.flights.ask_all_to_stop(Stop.DRAIN)
            context.checkpoint()

        worker = actor(edit=writes(b"x", work))
        return worker

    return make


def test_a_drained_task_is_queued_unharmed_and_its_message_released_at_once(submitted, drained, actor):
    assert drained().poll("edit") == [Outcome.RELEASED]
    task = submitted.task(TASK)
    assert (task.status, task.attempt, task.lease) == (TaskStatus.QUEUED, 0, None)
    assert (task.failures, task.reap_count, task.executions) == (0, 0, 1)
    assert task.queued_at == task.updated_at
    (message,) = submitted.sqs.peek("q-edit")
    assert message.visible
    assert actor().poll("edit") == [Outcome.COMPLETED]


def test_a_drained_task_waits_from_its_reset_on_and_not_from_its_start_race_5(submitted, drained):
    drained(lambda: submitted.runtime.sleep(200)).poll("edit")
    task = submitted.task(TASK)
    assert (task.queued_at - task.started_at).total_seconds() == pytest.approx(200, abs=1)
    assert (task.check_at - task.queued_at).total_seconds() == 1800


def test_the_state_is_reset_before_the_message_is_released(submitted, drained):
    order = []

    def watch():
        submitted.io = lambda site, do: (
            order.append((site, submitted.task(TASK).status)) if site.startswith("sqs") else None,
            do(),
        )[1]

    drained(watch).poll("edit")
    assert order == [("sqs.change_message_visibility_batch", TaskStatus.QUEUED)]


def test_at_the_last_permitted_receive_a_fresh_message_replaces_the_old_one(submitted, drained, actor):
    for _ in range(2):
        submitted.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        submitted.runtime.sleep(301)
    old = submitted.sqs.peek("q-edit")[0].message_id
    assert drained().poll("edit") == [Outcome.RELEASED]
    (fresh,) = submitted.sqs.peek("q-edit")
    assert (fresh.message_id == old, fresh.visible, fresh.receive_count) == (False, True, 0)
    assert submitted.task(TASK).send.message_id == fresh.message_id
    assert actor().poll("edit") == [Outcome.COMPLETED]


def test_three_deploys_push_no_healthy_message_into_the_dead_letters(submitted, drained, actor):
    for _ in range(6):
        assert drained().poll("edit") == [Outcome.RELEASED]
    assert submitted.sqs.peek("q-edit-dlq") == []
    assert actor().poll("edit") == [Outcome.COMPLETED]


def test_a_drain_after_completion_changes_nothing_race_6(submitted, actor):
    def late(site, do):
        answer = do()
        if site == "sqs.delete_message_batch":
            worker.process.flights.ask_all_to_stop(Stop.DRAIN)
        return answer

    worker = actor()
    submitted.io = late
    assert worker.poll("edit") == [Outcome.COMPLETED]
    assert submitted.task(TASK).status is TaskStatus.COMPLETED


def test_a_drain_reset_never_takes_a_completed_task_back_race_6(submitted, drained):
    def completed_elsewhere():
        submitted.patch(TASK, status="completed", outputKey="results/theirs", lease=DELETE_FIELD)

    assert drained(completed_elsewhere).poll("edit") == [Outcome.ABANDONED]
    assert submitted.task(TASK).status is TaskStatus.COMPLETED


def test_work_that_ends_in_spite_of_the_drain_counts(submitted, actor):
    def work(_):
        worker.process.flights.ask_all_to_stop(Stop.DRAIN)

    worker = actor(edit=writes(b"x", work))
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_what_is_claimed_after_the_drain_began_is_given_back_as_well(submitted, actor):
    worker = actor(edit=writes(b"x", lambda context: context.checkpoint()))
    worker.process.flights.ask_all_to_stop(Stop.DRAIN)
    assert worker.poll("edit") == [Outcome.RELEASED]


def test_a_task_that_somebody_took_meanwhile_is_not_reset(submitted, drained):
    worker = drained(lambda: submitted.patch(TASK, **{"lease.token": "somebody-else"}))
    assert worker.poll("edit") == [Outcome.ABANDONED]
    assert submitted.task(TASK).status is TaskStatus.RUNNING


def test_under_a_stopped_job_a_drained_task_goes_back_to_its_job(submitted, drained):
    drained(lambda: submitted.look.document("jobs/j").update({"status": "cancelled"})).poll("edit")
    task = submitted.task(TASK)
    assert (task.status, task.attempt) == (TaskStatus.PENDING, 1)
    assert submitted.sqs.peek("q-edit") == []


def test_a_step_with_a_recovery_of_its_own_is_not_reset(world, actor):
    world.submit("k", "last", {})

    def work(context):
        worker.process.flights.ask_all_to_stop(Stop.DRAIN)
        context.checkpoint()

    worker = actor(edit=writes(b"x", work))
    assert worker.poll("deliver") == [Outcome.ABANDONED]
    assert world.task("k.deliver").status is TaskStatus.RUNNING


def test_a_store_that_cannot_be_reached_does_not_block_the_exit(submitted, drained):
    def away(site, do):
        if site.startswith("firestore"):
            raise grpc_error("UNAVAILABLE", "no network")
        return do()

    worker = drained(lambda: setattr(submitted, "io", away))
    assert worker.poll("edit") == [Outcome.LEFT]


def test_a_queue_that_refuses_the_release_leaves_the_task_queued(submitted, drained):
    before = lambda: submitted.faults.add(Fault(kind=Kind.REFUSE, operation=Operation.EXTEND))  # noqa: E731
    assert drained(before).poll("edit") == [Outcome.RELEASED]
    assert submitted.task(TASK).status is TaskStatus.QUEUED


def test_what_an_open_poll_brings_after_the_stop_goes_back_unclaimed(submitted, actor):
    worker = actor()
    worker.process.stopping.set()
    assert worker.poll("edit") == []
    (message,) = submitted.sqs.peek("q-edit")
    assert (message.visible, message.receive_count) == (True, 1)
    assert submitted.task(TASK).executions == 0
    assert worker.process.slots.busy == 0


def test_at_its_last_permitted_receive_it_goes_back_as_a_fresh_message(submitted, actor):
    for _ in range(2):
        submitted.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        submitted.runtime.sleep(301)
    worker = actor()
    worker.process.stopping.set()
    worker.poll("edit")
    (fresh,) = submitted.sqs.peek("q-edit")
    assert (fresh.visible, fresh.receive_count) == (True, 0)


def test_a_malformed_one_is_only_released(world, actor):
    world.queues.send("q-edit", "hello", attributes={})
    worker = actor()
    for _ in range(3):
        worker.process.stopping.set()
        worker.poll("edit")
    worker.poll("edit")
    assert [message.body for message in world.sqs.peek("q-edit-dlq")] == ["hello"]
