"""What lost-or-late needs to know of a queue (§3.2): asked once per tick, only if something is suspicious."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from google.cloud import firestore

from mos import logs
from mos.clients.sqs import Queues
from mos.domain.errors import AppError
from mos.domain.model import Task
from mos.domain.pipeline import StepSpec
from mos.domain.staleness import QueueState, newest
from mos.missions.observing import read_all
from mos.runtime import Runtime
from mos.store.documents import UnreadableRecord, read
from mos.store.queries import lately_claimed

READINGS = 2
BETWEEN_READINGS = 1.0
"""Seconds. SQS counts are approximate: one reading of zero proves nothing."""
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class QueueReader:
    """Reads queues and the books of what was claimed from them."""

    client: firestore.Client
    queues: Queues
    runtime: Runtime

    def read(self, steps: Iterable[StepSpec]) -> dict[str, QueueState]:
        """The state of each step's queue. One that cannot be read is left out: its work counts as late."""
        steps = sorted(steps, key=lambda step: step.name)
        readings: dict[str, list[tuple[int, int]]] = {step.queue: [] for step in steps}
        for number in range(READINGS if steps else 0):
            if number:
                self.runtime.sleep(BETWEEN_READINGS)
            for step in steps:
                self._depth(step, readings[step.queue])
        return {step.queue: self._state(step, readings[step.queue]) for step in steps if readings[step.queue]}

    def _depth(self, step: StepSpec, into: list[tuple[int, int]]) -> None:
        try:
            depth = self.queues.depth(step.queue)
        except AppError as error:
            log.warning("a queue could not be read", queue=step.queue, problem=error.message)
            return
        into.append((depth.visible, depth.delayed))

    def _state(self, step: StepSpec, readings: list[tuple[int, int]]) -> QueueState:
        claimed = [task for task in self._claimed(step) if _holds_its_claim(task)]
        return QueueState(
            queue=step.queue,
            readings=tuple(readings),
            newest_claimed=newest(task.queued_at for task in claimed),
            last_claim=newest(task.started_at for task in claimed),
        )

    def _claimed(self, step: StepSpec) -> list[Task]:
        tasks = []
        for snapshot in read_all(self.client, lately_claimed(step.name)):
            try:
                task = read(Task, snapshot)
            except UnreadableRecord as error:
                log.warning("passed over", path=error.path, problem=error.problem)
                continue
            tasks += [task] if task is not None else []
        return tasks


def _holds_its_claim(task: Task) -> bool:
    """A task that was queued again after its claim says nothing about what was claimed from the queue."""
    return task.started_at is not None and task.queued_at is not None and task.queued_at <= task.started_at
