"""Receiving (§2.1 rules 1 and 2): only what can start, and nothing before its window is extended."""

import pytest

from mos.domain.errors import QueueError
from mos.domain.model import TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.inprocess import grpc_error
from mos.local.simulation.actor import writes
from mos.workers.outcomes import Outcome
from mos.workers.slots import Slots


def test_never_more_than_the_free_places_are_received(world, actor):
    world.submit("j", "chain", {f"s{number}": {"n": number} for number in range(5)})
    worker = actor()
    worker.process.slots.reserve(8, 0)
    worker.poll("edit")
    assert sum(not message.visible for message in world.sqs.peek("q-edit")) == 0
    assert len(worker.outcomes) == 2
    assert len(world.sqs.peek("q-edit")) == 3


def test_without_a_free_place_nothing_is_received(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})
    worker = actor()
    worker.process.slots.reserve(10, 0)
    assert worker.poll("edit") == []
    assert world.sqs.peek("q-edit")[0].receive_count == 0


@pytest.mark.parametrize("kind", [Kind.REFUSE, Kind.THROTTLE, Kind.UNAVAILABLE])
def test_without_the_first_extension_no_database_and_no_work_step_is_made(world, actor, kind):
    world.submit("j", "chain", {"s": {"n": 1}})
    world.faults.add(Fault(kind=kind, operation=Operation.EXTEND))
    calls = []
    world.io = lambda site, do: calls.append(site) or do()
    worker = actor()
    assert worker.poll("edit") == []
    assert not [site for site in calls if not site.startswith("sqs")]
    assert world.task("j.s.edit").status is TaskStatus.QUEUED
    assert worker.process.slots.busy == 0


def test_one_refused_extension_keeps_nobody_else_from_starting(world, actor):
    world.submit("j", "chain", {"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}})
    world.faults.add(Fault(kind=Kind.REFUSE, operation=Operation.EXTEND, match={"taskId": "j.b.edit"}))
    assert actor().poll("edit") == [Outcome.COMPLETED] * 2
    assert world.task("j.b.edit").status is TaskStatus.QUEUED


def test_a_batch_is_extended_in_one_call_right_after_its_receive(world, actor):
    world.submit("j", "chain", {"a": {"n": 1}, "b": {"n": 2}})
    calls = []
    world.io = lambda site, do: calls.append(site) or do()
    actor().poll("edit")
    assert [site for site in calls if site != "sqs.get_queue_url"][:2] == [
        "sqs.receive_message",
        "sqs.change_message_visibility_batch",
    ]
    assert calls.count("sqs.change_message_visibility_batch") == 1


def test_a_receive_that_fails_holds_no_place(world, actor):
    world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.RECEIVE))
    worker = actor()
    with pytest.raises(QueueError):
        worker.poll("edit")
    assert worker.process.slots.busy == 0


def test_a_claim_that_the_store_refuses_backs_off_and_is_no_failure(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})
    world.look.document("tasks/j.s.edit").update({"checkBy": "reaper"})

    def away(site, do):
        if site.startswith("firestore.Begin"):
            raise grpc_error("UNAVAILABLE", "no network")
        return do()

    world.io = away
    worker = actor()
    assert worker.poll("edit") == [Outcome.LEFT]
    world.io = lambda _, do: do()
    assert world.sqs.peek("q-edit")[0].visible_at - world.now.timestamp() <= 30
    world.runtime.sleep(31)
    assert worker.poll("edit") == [Outcome.COMPLETED]
    assert world.task("j.s.edit").executions == 1


def test_a_store_outage_pushes_no_healthy_message_into_the_dead_letters(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})

    def away(site, do):
        if site.startswith("firestore"):
            raise grpc_error("UNAVAILABLE", "no network")
        return do()

    world.io = away
    worker = actor()
    for _ in range(8):
        worker.poll("edit")
        world.runtime.sleep(130)
    world.io = lambda _, do: do()
    world.runtime.sleep(900)
    assert worker.poll("edit") == [Outcome.COMPLETED]
    assert world.sqs.peek("q-edit-dlq") == []


def test_a_duplicate_delivery_to_the_same_worker_is_not_worked_on_twice(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})

    def again(_):
        world.send([world.task("j.s.edit")])
        worker.poll("edit")

    worker = actor(edit=writes(b"x", again))
    worker.poll("edit")
    assert worker.outcomes == [Outcome.DUPLICATE, Outcome.COMPLETED]
    world.runtime.sleep(400)
    worker.poll("edit")
    assert world.task("j.s.edit").executions == 1
    assert world.sqs.peek("q-edit") == []


class Contended(Slots):
    """Places that somebody else always waits for."""

    contended = True


@pytest.mark.parametrize(("slots", "seconds"), [(Slots, 20), (Contended, 2)])
def test_a_long_poll_is_cut_short_while_another_queue_waits_for_a_place(world, actor, slots, seconds):
    worker = actor()
    receiver = worker.process.receivers[0]
    object.__setattr__(receiver, "slots", slots(2, world.runtime))
    object.__setattr__(receiver, "long_poll", 20)
    began = world.runtime.monotonic()
    receiver.poll()
    assert world.runtime.monotonic() - began == seconds


def test_places_are_split_between_the_queues_so_that_no_poll_holds_them_all(actor):
    assert [receiver.share for receiver in actor(concurrency=10).process.receivers] == [3, 3, 3]
    assert [receiver.share for receiver in actor(concurrency=2).process.receivers] == [1, 1, 1]
