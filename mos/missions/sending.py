"""Sending the message of a queued task after its commit (law 4)."""

from __future__ import annotations

from dataclasses import dataclass

from mos.clients.sqs import Queues
from mos.domain.messages import TaskMessage
from mos.domain.model import Task
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.store.gateway import Gateway
from mos.store.outbox import mark_sent


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Sends in exactly the shape that a step's producer sends, to the step's main queue."""

    queues: Queues
    gateway: Gateway
    policy: Policy
    by: By

    def send(self, task: Task) -> bool:
        """Send and mark; whether the mark was ours (False: the task moved on meanwhile, a claim for example).

        Raises:
            QueueError: not sent, as far as is known; the outbox still says unsent.
            StateStoreError: sent, but not marked; it is sent once more later, which a claim tolerates.
        """
        message = TaskMessage.for_task(task)
        attributes = {"correlationId": task.correlation_id} if task.correlation_id else {}
        message_id = self.queues.send(self.policy.step(task).queue, message.body(), attributes=attributes)
        return mark_sent(self.gateway, task, message_id, self.by).value
