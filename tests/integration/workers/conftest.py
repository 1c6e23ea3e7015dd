"""A world with a two-step pipeline, and workers in it that run in the test's own thread."""

import pytest

from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.world import World

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

[kinds.chain]
chain = ["edit", "join"]

[kinds.fan]
chain = ["edit"]
finish = ["join"]
"""


@pytest.fixture(params=["optimistic"])
def world(request):
    with World(Policy(pipeline=parse_pipeline(PIPELINE)), locking=request.param).entered() as entered:
        yield entered


@pytest.fixture
def actor(world, tmp_path):
    """Makes a worker whose two steps put out fixed bytes, unless told otherwise."""

    def make(edit=None, join=None, **settings):
        handlers = {"edit": edit or writes(b"edited"), "join": join or writes(b"joined")}
        return Actor(world, handlers, tmp_path / "scratch", **settings)

    return make
