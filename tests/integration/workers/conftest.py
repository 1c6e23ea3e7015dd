"""A world with a two-step pipeline, and workers in it that run in the test's own thread."""

import io
from contextlib import ExitStack, contextmanager

import pytest

from mos import logs
from mos.domain.messages import parse_message
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.world import World
from mos.workers.flight import Flight

PIPELINE = """
[steps.edit]
queue = "q-edit"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true

[steps.join]
queue = "q-join"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true

[steps.deliver]
queue = "q-deliver"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 600
rerunnable = false

[kinds.single]
chain = ["edit"]

[kinds.last]
finish = ["deliver"]

[kinds.chain]
chain = ["edit", "join"]

[kinds.fan]
chain = ["edit"]
finish = ["join"]
"""


@pytest.fixture(autouse=True)
def _quiet():
    """Log lines as in production, to nowhere: the readable form draws tracebacks, slowly."""
    logs.configure("test", stream=io.StringIO())


@pytest.fixture
def pipeline_text():
    return PIPELINE


@pytest.fixture
def world():
    with World(Policy(pipeline=parse_pipeline(PIPELINE))).entered() as entered:
        yield entered


@pytest.fixture
def actor(world, tmp_path):
    """Makes a worker whose two steps put out fixed bytes, unless told otherwise."""

    def make(edit=None, join=None, **settings):
        handlers = {"edit": edit or writes(b"edited"), "join": join or writes(b"joined"), "deliver": edit}
        return Actor(world, handlers, tmp_path / "scratch", **settings)

    return make


@pytest.fixture
def in_flight():
    """While it lasts, what waits for the worker's first step is claimed and under way, but not worked on."""

    @contextmanager
    def claimed(worker):
        process, deliveries = worker.process, []
        receiver = process.receivers[0]
        object.__setattr__(receiver, "start", deliveries.append)
        object.__setattr__(receiver, "share", 10)
        receiver.poll()
        with ExitStack() as stack:
            for delivery in deliveries:
                message = parse_message(delivery.received.body)
                claim = process.worker.claims.claim(delivery, message, "cor")
                flight = Flight(
                    delivery, claim.decision.task, claim.lease, correlation_id="cor", runtime=worker.world.runtime
                )
                stack.enter_context(process.flights.holding(flight))
            yield

    return claimed
