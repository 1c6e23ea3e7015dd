"""What lost-or-late needs to know of a queue (§3.2): asked once per tick, only if something is suspicious."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from google.cloud import firestore

from mos.clients.sqs import Depth, Queues
from mos.domain.model import Task
from mos.domain.pipeline import StepSpec
from mos.domain.staleness import QueueState, newest
from mos.missions.base import Passes
from mos.missions.observing import find
from mos.runtime import Runtime
from mos.store.queries import lately_claimed

READINGS = 2
BETWEEN_READINGS = 1.0
"""Seconds. SQS counts are approximate: one reading of zero proves nothing."""


@dataclass(frozen=True, kw_only=True)
class QueueReader:
    """Reads queues and the books of what was claimed from them. One that fails is a failed pass and no other's."""

    client: firestore.Client
    queues: Queues
    runtime: Runtime
    passes: Passes

    def read(self, steps: Iterable[StepSpec]) -> dict[str, QueueState]:
        """The state of each step's queue. One that cannot be read is left out: its work counts as late."""
        by_queue: dict[str, set[str]] = defaultdict(set)
        for step in steps:
            by_queue[step.queue].add(step.name)
        readings: dict[str, list[tuple[int, int]]] = {queue: [] for queue in sorted(by_queue)}
        for number in range(READINGS if readings else 0):
            if number:
                self.runtime.sleep(BETWEEN_READINGS)
            for queue, into in readings.items():
                depth = self.depth(queue)
                if depth is not None:
                    into.append((depth.visible, depth.delayed))
        states = {
            queue: self._state(queue, sorted(by_queue[queue]), tuple(found))
            for queue, found in readings.items()
            if len(found) == READINGS
        }
        return {queue: state for queue, state in states.items() if state is not None}

    def depth(self, queue: str) -> Depth | None:
        """How much a queue holds; None where it could not be asked."""
        return self.passes.attempt(f"queue {queue}", lambda: self.queues.depth(queue), None)

    def _state(self, queue: str, steps: list[str], readings: tuple[tuple[int, int], ...]) -> QueueState | None:
        none: list[Task] | None = None
        claimed = self.passes.attempt(f"claims of {queue}", lambda: self._claimed(steps), none)
        if claimed is None:
            return None
        return QueueState(
            queue=queue,
            readings=readings,
            newest_claimed=newest(task.queued_at for task in claimed if _tells_the_order(task)),
            last_claim=newest(task.started_at for task in claimed),
        )

    def _claimed(self, steps: list[str]) -> list[Task]:
        return [task for step in steps for task in find(self.client, lately_claimed(step), Task).documents]


def _tells_the_order(task: Task) -> bool:
    """Whether its claim says how far the queue has come.

    A task that was queued again after its claim says nothing, and neither does
    one that was claimed before: a retried or released message comes back at
    the head of the queue, with a fresh `queuedAt` and ahead of all that waits.
    """
    first = task.executions <= 1 and task.failures == 0
    return first and task.started_at is not None and task.queued_at is not None and task.queued_at <= task.started_at
