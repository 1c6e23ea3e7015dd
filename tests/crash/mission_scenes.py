"""Worlds for the missions' crash points: no object storage and no worker, so that a run costs milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mos.domain.claims import Claimant, Claimed, OwnerState, decide_claim
from mos.domain.messages import TaskMessage, parse_message
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.aws.queues import ensure_queues
from mos.local.firestore.virtual import virtual_time
from mos.local.simulation.crashes import CrashPoint, survive
from mos.local.simulation.world import World, plain
from mos.missions import base
from tests.integration.missions.conftest import STEP, Place

STEPS = ("reap", "resend", "strand", "unsent", "late")
"""A queue for each act of the reaper: what is sent for one must not make the other's message late."""
PIPELINE = "".join(STEP.format(name=name) for name in STEPS)
PIPELINE += "".join(f'[kinds.{name}]\nchain = ["{name}"]\n' for name in STEPS)
PIPELINE += '[kinds.chain]\nchain = ["reap", "resend"]\n'
POLICY = Policy(pipeline=parse_pipeline(PIPELINE))


@contextmanager
def mission_place(locking: str | None = None) -> Iterator[Place]:
    """A place whose people are told through a call that can crash as well."""
    world = World(POLICY, locking=locking)
    with virtual_time(world.runtime.sleep, world.runtime.monotonic):
        ensure_queues(world.sqs.client(), world._queue_specs())
        place = Place(world, Path("/nowhere"))
        told = place.told.notify
        place.told.notify = lambda **named: world.io("webhook.post", lambda: told(**named))  # type: ignore[method-assign]
        yield place


def claim(world: World, name: str, *, owner: str = "boot-a") -> None:
    """A worker claims a task, and is never heard of again."""

    def body(reader: Any) -> Any:
        task, job = reader.task_and_job(name, name.split(".", maxsplit=1)[0])
        decision = decide_claim(
            TaskMessage.for_task(task),
            task,
            job,
            owner_state=OwnerState.UNKNOWN,
            claimant=Claimant(owner=owner, token=world.runtime.new_id()),
            receive_count=1,
            now=reader.now,
            policy=world.policy,
        )
        assert isinstance(decision, Claimed), decision
        return decision.commit, None

    world.gateway.transact(body)


def crash(place: Place, mission: Any, point: CrashPoint) -> None:
    """One run of the mission, up to the crash."""
    place.world.io = point
    survive(lambda: base.run(mission), point)
    place.world.io = plain


def messages(place: Place) -> Counter[tuple[str, int]]:
    """How many messages each attempt of each task has in the queues, hidden ones too."""
    found = [parse_message(one.body) for step in STEPS for one in place.world.sqs.peek(f"q-{step}")]
    return Counter((message.task_id, message.attempt) for message in found)


def where(point: CrashPoint) -> str:
    """The point, for the message of an assertion."""
    return f"crash {point.side} call {point.at} ({point.sites[-1] if point.sites else 'none'})"
