"""SIGKILL at every I/O call of a message's life, before and after it took effect; then recovery, to rest."""

import contextlib
import io
import random
from collections import Counter

import pytest

from mos import logs
from mos.domain.changes import Commit, TaskChange
from mos.domain.completion import enqueue
from mos.domain.errors import QueueError, VeoError
from mos.domain.model import JobStatus, TaskStatus
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.crashes import CrashPoint, Side, crash_points, survive
from mos.local.simulation.world import World, plain
from mos.workers.flight import Stop

STEP = """
[steps.{name}]
queue = "q-{name}"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true
"""
PIPELINE = STEP.format(name="edit") + STEP.format(name="join") + '[kinds.chain]\nchain = ["edit", "join"]\n'
POLICY = Policy(pipeline=parse_pipeline(PIPELINE))
ROUNDS = 12


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    logs.configure("test", stream=io.StringIO())


def works(world, worker):
    """The plain life of a message: one step, with a heartbeat in the middle of it."""
    worker().poll("edit")


def ends_the_job(world, worker):
    """The last step: its commit completes shot and job."""
    world.io, point = plain, world.io
    worker().poll("edit")
    world.io = point
    worker().poll("join")


def fails_once(world, worker):
    """A failure that is tried again."""
    worker(fail=True).poll("edit")


def fails_at_the_last_receive(world, worker):
    """A failure whose message has to be replaced."""
    _receive_twice(world)
    worker(fail=True).poll("edit")


def drains(world, worker):
    """A drain in the middle of the work."""
    worker(drain=True).poll("edit")


def drains_at_the_last_receive(world, worker):
    """A drain whose message has to be replaced."""
    _receive_twice(world)
    worker(drain=True).poll("edit")


def takes_over(world, worker):
    """The takeover of a task whose worker was killed earlier."""
    first = CrashPoint(world.calls_to_claim, Side.AFTER)
    world.io, point = first, world.io
    survive(lambda: worker().poll("edit"), first)
    world.runtime.sleep(301)
    world.io = point
    worker().poll("edit")


def _receive_twice(world):
    world.io, point = plain, world.io
    for _ in range(2):
        world.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        world.runtime.sleep(301)
    world.io = point


SCENARIOS = [works, ends_the_job, fails_once, fails_at_the_last_receive, drains, drains_at_the_last_receive, takes_over]


def run(scenario, point, tmp_path, locking):
    """One run with a crash, then recovery; the world at rest."""
    with World(POLICY, locking=locking).entered() as world:
        world.submit("j", "chain", {"s": {"n": 1}})
        world.calls_to_claim = 6

        def worker(*, fail=False, drain=False):
            def work(context):
                actor.process.heartbeat.beat()
                if drain:
                    actor.process.flights.ask_all_to_stop(Stop.DRAIN)
                if fail:
                    raise VeoError("timeout")
                context.checkpoint()

            actor = Actor(world, {"edit": writes(b"e", work), "join": writes(b"j")}, tmp_path / "scratch")
            return actor

        world.io = point
        survive(lambda: scenario(world, worker), point)
        world.io = plain
        recover(world, worker)
        check(world, point)
        if "last_receive" not in scenario.__name__:
            assert world.sqs.peek("q-edit-dlq") == world.sqs.peek("q-join-dlq") == []


def recover(world, worker):
    """What is left when the faults are over: redelivery, and the outbox's mission after its grace."""
    fresh = worker()
    for _ in range(ROUNDS):
        if world.job("j").status is not JobStatus.PROCESSING:
            break
        world.runtime.sleep(310)
        world.send_unsent()
        rescue(world)
        fresh.poll()
    world.runtime.sleep(400)
    fresh.poll()


def rescue(world):
    """The reaper's part, for what a kill at the last permitted receive sent to the dead letters."""
    for task in world.tasks():
        if world.sqs.peek(f"q-{task.step_type}"):
            continue
        if task.status is TaskStatus.QUEUED:
            world.send([task])
        elif task.status is TaskStatus.RUNNING and task.lease.expires_at < world.now:
            world.gateway.transact(lambda reader, name=task.id: reap(reader, name))
            world.send_unsent()


def reap(reader, name):
    """A new attempt, queued and unsent."""
    task = reader.task(name)
    again = enqueue(task.replace(lease=None, attempt=task.attempt + 1, reap_count=task.reap_count + 1), reader.now)
    change = TaskChange(task, again, "its worker is gone")
    return Commit(by=By.REAPER, act="reap", correlation_id="", tasks=(change,)), None


def check(world, point):
    """Exactly one completed state each, one successor, nothing completed undone, nothing dead-lettered."""
    where = f"crash {point.side} call {point.at} ({point.sites[-1] if point.sites else '-'})"
    assert world.job("j").status is JobStatus.COMPLETED, where
    changes = [change for entry in world.documents("recoveryLog") for change in entry["changes"]]
    ended = Counter(change["path"] for change in changes if change["after"] == "completed" != change["before"])
    assert ended == {"tasks/j.s.edit": 1, "tasks/j.s.join": 1, "jobs/j": 1}, where
    assert not [change for change in changes if change["before"] == "completed"], where
    queued = [change for change in changes if (change["before"], change["after"]) == ("waiting", "queued")]
    assert [change["path"] for change in queued] == ["tasks/j.s.join"], where
    for task in world.tasks():
        assert task.status is TaskStatus.COMPLETED, where
        assert world.objects.exists(task.output_key), where
        assert task.failures <= 1, where
        assert task.reap_count <= 2, where


def calls_of(scenario, tmp_path, locking):
    """How many I/O calls the scenario makes without a crash."""
    counting = CrashPoint()
    run(scenario, counting, tmp_path, locking)
    return len(counting.sites)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_crash_at_a_sample_of_calls_loses_and_doubles_nothing(scenario, tmp_path):
    calls = calls_of(scenario, tmp_path, "optimistic")
    assert calls >= 10
    stride = 1 if scenario is works else 4
    for point in list(crash_points(calls))[::stride]:
        run(scenario, point, tmp_path, "optimistic")


@pytest.mark.prove
@pytest.mark.parametrize("locking", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_crash_at_any_call_loses_and_doubles_nothing(scenario, locking, tmp_path):
    for point in crash_points(calls_of(scenario, tmp_path, locking)):
        run(scenario, point, tmp_path, locking)


def repeated(seed, tmp_path, locking):
    """Two crashes at calls that follow the seed, with faults of the queue between; then recovery."""
    dice = random.Random(seed)
    with World(POLICY, seed=seed, locking=locking).entered() as world:
        world.submit("j", "chain", {"s": {"n": seed}})
        for fault in dice.sample(FAULTS, k=2):
            world.faults.add(fault)
        points = [CrashPoint(dice.randint(1, 35), dice.choice(list(Side))) for _ in range(2)]

        def worker():
            def work(context):
                actor.process.heartbeat.beat()
                context.checkpoint()

            actor = Actor(world, {"edit": writes(b"e", work), "join": writes(b"j", work)}, tmp_path / "scratch")
            return actor

        for point in points:
            world.io = point
            survive(lambda: survive_the_queue(worker().poll), point)
            world.io = plain
            world.runtime.sleep(310)
        world.faults.stop()
        recover(world, worker)
        check(world, points[-1])


def survive_the_queue(poll):
    """A receive that fails is tried again by the loop, which is not here."""
    with contextlib.suppress(QueueError):
        poll()


FAULTS = [
    Fault(kind=Kind.DUPLICATE, operation=Operation.SEND),
    Fault(kind=Kind.DUPLICATE, operation=Operation.RECEIVE),
    Fault(kind=Kind.LOSE, operation=Operation.DELETE),
    Fault(kind=Kind.LOSE, operation=Operation.SEND),
    Fault(kind=Kind.REFUSE, operation=Operation.EXTEND, skip=1),
    Fault(kind=Kind.LOSE_REPLY, operation=Operation.SEND),
    Fault(kind=Kind.LOSE_REPLY, operation=Operation.RECEIVE),
    Fault(kind=Kind.UNAVAILABLE, operation=Operation.DELETE),
    Fault(kind=Kind.THROTTLE, operation=Operation.EXTEND),
]


@pytest.mark.parametrize("seed", range(12))
def test_two_crashes_among_faults_of_the_queue_lose_and_double_nothing(seed, tmp_path):
    repeated(seed, tmp_path, "optimistic")


@pytest.mark.prove
@pytest.mark.parametrize("locking", ["optimistic", "pessimistic"])
def test_many_such_runs_lose_and_double_nothing(locking, tmp_path):
    for seed in range(100, 250):
        repeated(seed, tmp_path, locking)
