"""The process around the worker, with real threads: its loops, its exit codes, its drain (§2.2)."""

import threading

import pytest

from mos.domain.errors import StateStoreError
from mos.domain.model import TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.inprocess import grpc_error
from mos.local.simulation.actor import Actor, writes
from mos.runtime import SystemRuntime
from mos.workers import process as processes
from mos.workers.build import build_process

TASK = "j.s.edit"


class Running:
    """A worker process in threads of this one. `signal` stands for a signal's name."""

    def __init__(self, world, scratch, edit, **settings):
        actor = Actor(world, {"edit": edit}, scratch, runtime=SystemRuntime(), drain_seconds=0, **settings)
        self.worker_id = actor.parts.worker_id
        self.process = build_process(actor.parts)
        self.ready, self.signal, self.codes = threading.Event(), None, []
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.codes.append(self.process.run(self._wait, self.ready.set))
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.codes.append(error)

    def _wait(self, seconds):
        threading.Event().wait(min(seconds, 0.01))
        name, self.signal = self.signal, None
        return name

    def start(self):
        self.thread.start()
        return self

    def end(self):
        self.thread.join(30)
        return self.codes[0]


@pytest.fixture
def running(world, tmp_path, monkeypatch):
    """Starts such a process; it polls the model without waiting."""
    monkeypatch.setattr(processes, "JOIN_SECONDS", 0.5)

    def make(edit, **settings):
        return Running(world, tmp_path / "scratch", edit, **settings)

    return make


def until(condition):
    """Wait for a condition that another thread makes true."""
    for _ in range(3000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("the condition did not come true in time")


def test_it_announces_itself_works_and_says_that_it_stops(world, running, tmp_path):
    world.submit("j", "single", {"s": {"n": 1}})
    alive = tmp_path / "alive"
    worker = running(writes(b"x"), liveness_file=alive).start()
    until(lambda: world.task(TASK).status is TaskStatus.COMPLETED)
    assert alive.exists()
    worker.signal = "SIGTERM"
    assert worker.end() == 0
    (record,) = world.documents("workers")
    assert (record["id"], record["stopReason"], record["inFlight"]) == (worker.worker_id, "SIGTERM", 0)


def test_work_in_flight_is_given_back_before_the_exit(world, running):
    world.submit("j", "single", {"s": {"n": 1}})
    reached = threading.Event()

    def work(context):
        reached.set()
        until(lambda: worker.process.flights.all()[0].stop)
        context.checkpoint()

    worker = running(writes(b"x", work)).start()
    assert reached.wait(30)
    worker.signal = "SIGTERM"
    assert worker.end() == 0
    assert world.task(TASK).status is TaskStatus.QUEUED
    assert world.sqs.peek("q-edit")[0].visible


def test_a_handler_that_ignores_the_drain_is_left_unreset_and_taken_over_uncounted(world, running, actor):
    world.submit("j", "single", {"s": {"n": 1}})
    reached, leave = threading.Event(), threading.Event()

    def work(_):
        reached.set()
        leave.wait(30)

    worker = running(writes(b"x", work)).start()
    assert reached.wait(30)
    worker.signal = "SIGTERM"
    assert worker.end() == 1
    assert world.task(TASK).status is TaskStatus.RUNNING
    world.runtime.sleep(301)
    actor().poll("edit")
    task = world.task(TASK)
    assert (task.status, task.reap_count, task.executions) == (TaskStatus.COMPLETED, 0, 2)
    leave.set()
    until(lambda: not worker.process.flights.all())
    assert world.task(TASK) == task


def test_a_loop_that_ends_unexpectedly_ends_the_process_with_1(running):
    worker = running(writes(b"x"))
    object.__setattr__(worker.process.receivers[0].step, "queue", "no such name!")
    assert worker.start().end() == 1
    assert "receive-edit" in worker.process.broken


def test_a_queue_that_fails_for_a_while_ends_nothing(world, running):
    world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.RECEIVE, times=1))
    world.submit("j", "single", {"s": {"n": 1}})
    worker = running(writes(b"x")).start()
    until(lambda: world.task(TASK).status is TaskStatus.COMPLETED)
    worker.signal = "SIGINT"
    assert worker.end() == 0


def test_a_store_that_cannot_be_reached_at_the_start_starts_nothing(world, running):
    def away(site, _):
        raise grpc_error("UNAVAILABLE", "no network")

    world.io = away
    worker = running(writes(b"x")).start()
    assert isinstance(worker.end(), StateStoreError)
    assert not worker.ready.is_set()


def test_a_store_that_is_away_at_the_end_does_not_block_the_exit(world, running):
    worker = running(writes(b"x")).start()
    assert worker.ready.wait(30)

    def away(site, do):
        if site.startswith("firestore"):
            raise grpc_error("UNAVAILABLE", "no network")
        return do()

    world.io = away
    worker.signal = "SIGTERM"
    assert worker.end() == 0


def test_a_second_signal_leaves_at_once(world, running):
    world.submit("j", "single", {"s": {"n": 1}})
    reached, leave = threading.Event(), threading.Event()

    def work(_):
        reached.set()
        leave.wait(30)

    worker = running(writes(b"x", work))
    worker.process.drain_seconds = 1000
    worker.start()
    assert reached.wait(30)
    worker.signal = "SIGTERM"
    until(worker.process.stopping.is_set)
    worker.signal = "SIGTERM"
    assert worker.end().code == 1
    leave.set()
    until(lambda: not worker.process.flights.all())
