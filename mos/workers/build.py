"""A worker process from its parts. Nothing connects or starts here."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata

from google.cloud import firestore

from mos.clients.s3 import Storage
from mos.clients.sqs import Queues
from mos.domain.pipeline import StepSpec
from mos.domain.policy import Policy
from mos.runtime import Runtime
from mos.settings import Settings
from mos.store.gateway import Gateway
from mos.store.workers import Identity, Liveness
from mos.workers.claiming import Claims
from mos.workers.context import Handler
from mos.workers.ending import Ending
from mos.workers.flight import Flight, Flights
from mos.workers.giving_up import GivingUp
from mos.workers.heartbeat import Heartbeat, interval
from mos.workers.outbox import Outbox
from mos.workers.outcomes import Tally
from mos.workers.process import WorkerProcess
from mos.workers.receiver import Receiver
from mos.workers.reports import Reports
from mos.workers.slots import Slots
from mos.workers.work import Work
from mos.workers.worker import Worker


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a worker is joined from. `worker_id` is a boot id, new for each process (§1.4)."""

    settings: Settings
    policy: Policy
    client: firestore.Client
    queues: Queues
    storage: Storage
    runtime: Runtime
    handlers: Mapping[str, Handler]
    worker_id: str

    def steps(self) -> list[StepSpec]:
        """The steps that are served."""
        return [self.policy.pipeline.step(name) for name in self.handlers]


def build_worker(parts: Parts, flights: Flights) -> Worker:
    """What handles one delivery."""
    gateway = Gateway(parts.client, parts.policy, parts.runtime, actor=f"worker:{parts.worker_id}")
    reports = Reports(parts.client)
    ending = Ending(
        gateway=gateway,
        policy=parts.policy,
        runtime=parts.runtime,
        outbox=Outbox(queues=parts.queues, gateway=gateway, policy=parts.policy),
        giving_up=GivingUp(
            gateway=gateway, policy=parts.policy, runtime=parts.runtime, jitter=parts.settings.retry_jitter
        ),
        reports=reports,
        work=Work(
            client=parts.client,
            storage=parts.storage,
            handlers=parts.handlers,
            scratch=parts.settings.scratch,
            runtime=parts.runtime,
            step_seconds=parts.settings.step_seconds,
        ),
    )
    claims = Claims(gateway=gateway, policy=parts.policy, runtime=parts.runtime, owner=parts.worker_id)
    return Worker(
        claims=claims,
        ending=ending,
        reports=reports,
        flights=flights,
        tally=Tally(parts.runtime),
        policy=parts.policy,
        runtime=parts.runtime,
    )


def build_process(parts: Parts) -> WorkerProcess:
    """The whole process, not yet started."""
    flights, slots = Flights(parts.runtime), Slots(parts.settings.concurrency, parts.runtime)
    process = WorkerProcess(
        worker=build_worker(parts, flights),
        receivers=[],
        heartbeat=_heartbeat(parts, flights, lambda flight: process.stuck(flight)),  # noqa: PLW0108 - made below
        flights=flights,
        slots=slots,
        liveness=Liveness(parts.client, _identity(parts)),
        runtime=parts.runtime,
        stopping=parts.runtime.event(),
        drain_seconds=parts.settings.drain_seconds,
        liveness_file=parts.settings.liveness_file,
    )
    process.receivers = [_receiver(parts, step, process) for step in parts.steps()]
    return process


def _receiver(parts: Parts, step: StepSpec, process: WorkerProcess) -> Receiver:
    return Receiver(
        step=step,
        queues=parts.queues,
        slots=process.slots,
        policy=parts.policy,
        runtime=parts.runtime,
        long_poll=parts.settings.long_poll_seconds,
        share=max(1, parts.settings.concurrency // len(parts.handlers)),
        stopping=process.stopping,
        start=process.start_delivery,
    )


def _heartbeat(parts: Parts, flights: Flights, on_stuck: Callable[[Flight], None]) -> Heartbeat:
    return Heartbeat(
        client=parts.client,
        queues=parts.queues,
        flights=flights,
        policy=parts.policy,
        runtime=parts.runtime,
        every=interval(parts.policy, parts.steps()),
        reports=Reports(parts.client),
        on_stuck=on_stuck,
    )


def _identity(parts: Parts) -> Identity:
    return Identity(
        worker_id=parts.worker_id,
        version=metadata.version("mos-self-healing"),
        host=socket.gethostname(),
        pid=os.getpid(),
        steps=tuple(parts.handlers),
    )
