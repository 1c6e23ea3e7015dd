"""A world in which missions run: the stock clients on the engine and the queue model, the index check on."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mos import logs
from mos.domain.invariants import Evidence, Violation, check
from mos.domain.jobs import JobRequest
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.domain.reaping import ReaperLimits
from mos.domain.recovery_log import LogEntry
from mos.local.firestore import composites
from mos.local.firestore.inprocess import connect
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.world import World
from mos.missions import base
from mos.missions.create_job import create_job
from mos.missions.dispatch import Dispatch
from mos.missions.reaper import Reaper
from mos.store.gateway import Gateway

INDEXES = Path(__file__).parents[3] / "firestore.indexes.json"
TICK = 300
STEP = """
[steps.{name}]
queue = "q-{name}"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true
"""
PIPELINE = STEP.format(name="edit") + STEP.format(name="join") + '[kinds.chain]\nchain = ["edit", "join"]\n'
PIPELINE += '[kinds.single]\nchain = ["edit"]\n'
POLICY = Policy(pipeline=parse_pipeline(PIPELINE))


@dataclass
class Told:
    """Takes notifications. While it is down, it refuses them."""

    texts: list[str] = field(default_factory=list)
    down: Exception | None = None

    def notify(self, *, severity: str, text: str, facts: dict[str, Any]) -> None:
        if self.down is not None:
            raise self.down
        self.texts.append(f"[{severity}] {text}")


class Place:
    """A world with its missions and workers."""

    def __init__(self, world: World, scratch: Path) -> None:
        self.world = world
        self.scratch = scratch
        self.told = Told()
        world.engine.indexes = composites.load(INDEXES)
        self.mission_client = connect(
            world.engine,
            hook=lambda name, request, do, timeout: world.io(f"firestore.{name}", do),
            caller="mission",
            pause=world.runtime.sleep,
        )

    def reaper(self, **limits: int) -> Reaper:
        """One run of the reaper."""
        run = self.world.runtime.new_id()
        return Reaper(
            client=self.mission_client,
            gateway=Gateway(
                self.mission_client, self.world.policy, self.world.runtime, actor="reaper", mission_run=run
            ),
            queues=self.world.queues,
            notifier=self.told,  # type: ignore[arg-type]
            policy=self.world.policy,
            runtime=self.world.runtime,
            run_id=run,
            limits=ReaperLimits(**limits),
            width=1,
        )

    def dispatch(self, **fields: int) -> Dispatch:
        """One run of dispatch."""
        run = self.world.runtime.new_id()
        return Dispatch(
            client=self.mission_client,
            gateway=Gateway(
                self.mission_client, self.world.policy, self.world.runtime, actor="dispatch", mission_run=run
            ),
            queues=self.world.queues,
            policy=self.world.policy,
            runtime=self.world.runtime,
            run_id=run,
            **fields,
        )

    def reap(self, **limits: int) -> base.Report:
        """A tick of the reaper."""
        return base.run(self.reaper(**limits))

    def ticks(self, count: int, between: Callable[[], object] = lambda: None) -> list[base.Report]:
        """Ticks of the reaper, five minutes apart."""
        reports = []
        for _ in range(count):
            self.world.runtime.sleep(TICK)
            between()
            reports.append(self.reap())
        return reports

    def create(self, job_id: str, kind: str = "single", **fields: Any) -> None:
        """A pending job, as a producer makes it."""
        shots = {"s": {"n": job_id}}
        request = JobRequest(job_id=job_id, kind=kind, shots=shots, correlation_id=f"cor-{job_id}", **fields)
        create_job(self.world.gateway, self.world.policy, request)

    def submit(self, *jobs: str, kind: str = "single") -> None:
        """Jobs that are started, with their messages sent."""
        for job_id in jobs:
            self.world.submit(job_id, kind, {"s": {"n": job_id}})

    def worker(self, work: Callable[[Any], object] = lambda _: None, **settings: Any) -> Actor:
        """A worker of both steps."""
        handlers = {"edit": writes(b"edited", work), "join": writes(b"joined", work)}
        return Actor(self.world, handlers, self.scratch, **settings)

    def claim_and_die(self, step: str = "edit") -> None:
        """A worker claims one message and is killed at once."""

        def killed(_: Any) -> None:
            raise SystemExit

        with pytest.raises(SystemExit):
            self.worker(killed, concurrency=1).poll(step)

    def lose(self, queue: str = "q-edit") -> int:
        """Delete every message of a queue behind the system's back. How many."""
        return sum(self.world.sqs.drop(queue, one.message_id) for one in self.world.sqs.peek(queue))

    def queued(self, queue: str = "q-edit") -> list[str]:
        """The messages of a queue, hidden ones too."""
        return [one.body for one in self.world.sqs.peek(queue)]

    def findings(self) -> dict[str, dict[str, Any]]:
        """Open findings by id."""
        return {found["id"]: found for found in self.world.documents("findings") if found.get("open")}

    def log(self, act: str | None = None) -> list[dict[str, Any]]:
        """The recovery log in time order."""
        found = sorted(self.world.documents("recoveryLog"), key=lambda entry: entry["at"])
        return [entry for entry in found if act in {None, entry["act"]}]

    def evidence(self, **fields: Any) -> Evidence:
        """Log and documents, for the invariants."""
        entries = [
            LogEntry.model_validate({**(one.to_dict() or {}), "id": one.id, "committedAt": one.create_time})
            for one in self.world.look.collection("recoveryLog").stream()
        ]
        jobs = {one["id"]: self.world.job(one["id"]) for one in self.world.documents("jobs")}
        tasks = {task.id: task for task in self.world.tasks()}
        return Evidence(policy=self.world.policy, entries=entries, tasks=tasks, jobs=jobs, **fields)

    def violations(self, **fields: Any) -> list[Violation]:
        """The invariants that do not hold."""
        return check(self.evidence(**fields))


@pytest.fixture(autouse=True)
def quiet() -> None:
    """Log lines as in production, to nowhere."""
    logs.configure("test", stream=io.StringIO())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with World(POLICY).entered() as world:
        yield Place(world, tmp_path / "scratch")
