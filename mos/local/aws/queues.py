"""The local stack's queues, each with its dead-letter queue.

The moto server keeps its state in memory: when it starts again, its queues are
gone, and whoever supervises it calls `ensure_queues` again. Messages that were
in it are lost, which is what the outbox and the reaper are for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

DEAD_LETTER_RETENTION = 14 * 86_400
"""Seconds; the longest that SQS keeps a message, so that people have time to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSpec:
    """One queue: how long it hides a received message, and its deliveries before the dead-letter queue."""

    name: str
    visibility_timeout: int
    """Seconds."""
    max_receive_count: int

    @property
    def dead_letter_name(self) -> str:
        """The queue that its redrive policy fills."""
        return f"{self.name}-dlq"


def ensure_queues(client: SQSClient, specs: Iterable[QueueSpec]) -> None:
    """Create what is missing and set what differs; messages that are there stay. Idempotent.

    Raises:
        botocore.exceptions.BotoCoreError: the endpoint cannot be reached.
    """
    for spec in specs:
        ensure_queue(client, spec)


def ensure_queue(client: SQSClient, spec: QueueSpec) -> str:
    """The URL of the queue, which exists as declared afterwards, as does its dead-letter queue."""
    dead = client.create_queue(QueueName=spec.dead_letter_name)["QueueUrl"]
    client.set_queue_attributes(QueueUrl=dead, Attributes={"MessageRetentionPeriod": str(DEAD_LETTER_RETENTION)})
    arn = client.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    url = client.create_queue(QueueName=spec.name)["QueueUrl"]
    redrive = {"deadLetterTargetArn": arn, "maxReceiveCount": spec.max_receive_count}
    client.set_queue_attributes(
        QueueUrl=url,
        Attributes={"VisibilityTimeout": str(spec.visibility_timeout), "RedrivePolicy": json.dumps(redrive)},
    )
    return url
