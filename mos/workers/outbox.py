"""Sending what a commit queued (law 4): after it, never before. What is not sent here the reaper sends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from mos import logs
from mos.clients.sqs import Queues
from mos.domain.errors import AppError
from mos.domain.messages import TaskMessage
from mos.domain.model import Task
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.store.gateway import Gateway
from mos.store.outbox import mark_sent
from mos.workers.delivery import CORRELATION, LONGEST_DELAY, Delivery, seconds

log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Outbox:
    """Sends task messages and marks them as sent; a failure is logged and left to the reaper."""

    queues: Queues
    gateway: Gateway
    policy: Policy

    def send(self, tasks: Iterable[Task]) -> None:
        """The message of each task, exactly as its step's producer sends it."""
        for task in tasks:
            try:
                message_id = self.queues.send(
                    self.policy.step(task).queue,
                    TaskMessage.for_task(task).body(),
                    attributes={CORRELATION: task.correlation_id} if task.correlation_id else {},
                )
                mark_sent(self.gateway, task, message_id, By.WORKER)
            except AppError as error:
                log.warning("left to the reaper to send", task=task.id, problem=error.message)

    def replace(self, delivery: Delivery, task: Task, delay: timedelta, correlation_id: str) -> None:
        """A fresh message in place of `delivery`, marked as sent where the state waits for that."""
        message_id = delivery.replace(min(delay, timedelta(seconds=LONGEST_DELAY)), correlation_id)
        if message_id is None or not task.unsent:
            return
        try:
            mark_sent(self.gateway, task, message_id, By.WORKER)
        except AppError as error:
            log.warning("sent, but not marked so", task=task.id, problem=error.message, seconds=seconds(delay))
