"""SQS, as the product uses it: receive, extend, delete, send, and how deep a queue is.

Delivery is at least once. `extend` and `delete` answer per entry and do not
raise for what SQS refuses, so that one lost receipt hides nothing about the
other nine; `receive`, `send` and `depth` raise `QueueError`.

A dead-letter queue (`<name>-dlq`) belongs to people: nothing here receives
from it, sends to it or deletes in it (invariant S16); only `depth` may look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mos.clients.aws import make_boto_client
from mos.clients.sqs_errors import ForeignError, Outcome, outcome_of_error, queue_error
from mos.clients.sqs_replies import (
    DELAYED,
    IN_FLIGHT,
    VISIBLE,
    Depth,
    EntryResult,
    Received,
    read_depth,
    read_received,
    read_results,
    reading,
    text,
)
from mos.domain.errors import PipelineStateError, QueueError, ValidationError

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

__all__ = ["BATCH", "LONGEST_POLL", "Depth", "EntryResult", "Outcome", "Queues", "Received", "connect_queues"]

BATCH = 10
"""Entries per call and messages per receive: the service's limit."""
LONGEST_POLL = 20
"""Seconds: the service's limit for a long poll."""
POLL_MARGIN = 10.0
"""Seconds by which a poll's read time-out outlasts the poll."""
DEAD_LETTER_SUFFIX = "-dlq"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")

_Entry = TypeVar("_Entry")
_Reply = TypeVar("_Reply")


def connect_queues(*, endpoint_url: str | None = None, region: str | None = None) -> Queues:
    """Queues over two clients: short deadlines for calls, a long read time-out for polls.

    Raises:
        SettingsError: no region, or an endpoint that is no URL.
    """
    calls = make_boto_client("sqs", endpoint_url=endpoint_url, region=region)
    polls = make_boto_client(
        "sqs", endpoint_url=endpoint_url, region=region, read_timeout=LONGEST_POLL + POLL_MARGIN, max_attempts=1
    )
    return Queues(calls, polls=polls)


class Queues:
    """The queues of one account and region, by name. Safe to share between threads."""

    def __init__(self, calls: SQSClient, *, polls: SQSClient | None = None) -> None:
        self._calls = calls
        self._polls = calls if polls is None else polls
        self._urls: dict[str, str] = {}

    def receive(self, queue: str, *, max_messages: int, wait_seconds: int) -> list[Received]:
        """Up to `max_messages` (ten at most) messages, after a long poll of at most 20 s.

        Raises:
            QueueError: the call failed, or the reply is not SQS's; what it delivered comes back by itself.
            PipelineStateError: the queue is a dead-letter queue.
            ValidationError: an argument is out of range.
        """
        _refuse_dead_letters("ReceiveMessage", queue)
        if max_messages < 1:
            raise ValidationError.of_field("max_messages", "ask for at least one message")
        if not 0 <= wait_seconds <= LONGEST_POLL:
            raise ValidationError.of_field("wait_seconds", f"must be from 0 to {LONGEST_POLL}")
        reply = self._ask(
            "ReceiveMessage",
            queue,
            lambda url: self._polls.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(max_messages, BATCH),
                WaitTimeSeconds=wait_seconds,
                MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
                MessageAttributeNames=["All"],
            ),
        )
        with reading("ReceiveMessage", queue):
            return read_received(reply)

    def extend(self, queue: str, entries: Sequence[tuple[str, int]]) -> list[EntryResult]:
        """Hide each (receipt handle, seconds from now): resets the window, never adds to it; 0 releases.

        One result per entry, in order. Past 12 h since the receive SQS refuses.

        Raises:
            PipelineStateError: the queue is a dead-letter queue.
        """

        def change(url: str, batch: Sequence[tuple[str, int]]) -> Mapping[str, Any]:
            return self._calls.change_message_visibility_batch(
                QueueUrl=url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
                    for index, (handle, seconds) in enumerate(batch)
                ],
            )

        return self._in_batches("ChangeMessageVisibility", queue, entries, lambda entry: entry[0], change)

    def delete(self, queue: str, handles: Sequence[str]) -> list[EntryResult]:
        """Acknowledge; one result per handle, in order. OK with an old handle may have deleted nothing.

        Raises:
            PipelineStateError: the queue is a dead-letter queue.
        """

        def remove(url: str, batch: Sequence[str]) -> Mapping[str, Any]:
            return self._calls.delete_message_batch(
                QueueUrl=url,
                Entries=[{"Id": str(index), "ReceiptHandle": handle} for index, handle in enumerate(batch)],
            )

        return self._in_batches("DeleteMessage", queue, handles, lambda handle: handle, remove)

    def send(self, queue: str, body: str, *, attributes: Mapping[str, str], delay_seconds: int = 0) -> str:
        """The id of the message that SQS accepted; `delay_seconds` up to 900.

        Raises:
            QueueError: not accepted; with `details["ambiguous"]` it may have been, so a re-send may be a duplicate.
            PipelineStateError: the queue is a dead-letter queue.
        """
        _refuse_dead_letters("SendMessage", queue)
        reply = self._ask(
            "SendMessage",
            queue,
            lambda url: self._calls.send_message(
                QueueUrl=url,
                MessageBody=body,
                DelaySeconds=delay_seconds,
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
                },
            ),
        )
        with reading("SendMessage", queue, ambiguous=True):
            return text(reply["MessageId"])

    def depth(self, queue: str) -> Depth:
        """How many messages the queue holds; the one call that a dead-letter queue allows.

        Raises:
            QueueError: the call failed, or the reply is not SQS's.
        """
        reply = self._ask(
            "GetQueueAttributes",
            queue,
            lambda url: self._calls.get_queue_attributes(
                QueueUrl=url,
                AttributeNames=[VISIBLE, IN_FLIGHT, DELAYED],
            ),
        )
        with reading("GetQueueAttributes", queue):
            return read_depth(reply)

    def _in_batches(
        self,
        operation: str,
        queue: str,
        entries: Sequence[_Entry],
        handle_of: Callable[[_Entry], str],
        call: Callable[[str, Sequence[_Entry]], Mapping[str, Any]],
    ) -> list[EntryResult]:
        _refuse_dead_letters(operation, queue)
        results: list[EntryResult] = []
        for start in range(0, len(entries), BATCH):
            results += self._one_batch(operation, queue, entries[start : start + BATCH], handle_of, call)
        return results

    def _one_batch(
        self,
        operation: str,
        queue: str,
        batch: Sequence[_Entry],
        handle_of: Callable[[_Entry], str],
        call: Callable[[str, Sequence[_Entry]], Mapping[str, Any]],
    ) -> list[EntryResult]:
        handles = [handle_of(entry) for entry in batch]
        try:
            reply = self._ask(operation, queue, lambda url: call(url, batch))
            with reading(operation, queue, ambiguous=True):
                return read_results(reply, handles, operation=operation, queue=queue)
        except QueueError as error:
            outcome = outcome_of_error(error)
            return [EntryResult(handle, outcome, error) for handle in handles]

    def _ask(self, operation: str, queue: str, call: Callable[[str], _Reply]) -> _Reply:
        url = self._url(queue)
        try:
            with reading(operation, queue, ambiguous=True):  # botocore's parser trips over a foreign server's JSON
                return call(url)
        except ForeignError as error:
            ours = queue_error(error, operation=operation, queue=queue)
            if ours.code == "QueueDoesNotExist":
                self._urls.pop(queue, None)
            raise ours from error

    def _url(self, queue: str) -> str:
        """The queue's URL, asked for once; two threads that ask at the same time get the same answer."""
        known = self._urls.get(queue)
        if known is not None:
            return known
        if not _NAME.fullmatch(queue):
            raise ValidationError.of_field("queue", f"{queue[:100]!r} is not the name of a standard queue")
        try:
            with reading("GetQueueUrl", queue):
                url = text(self._calls.get_queue_url(QueueName=queue)["QueueUrl"])
        except ForeignError as error:
            raise queue_error(error, operation="GetQueueUrl", queue=queue) from error
        return self._urls.setdefault(queue, url)


def _refuse_dead_letters(operation: str, queue: str) -> None:
    if queue.endswith(DEAD_LETTER_SUFFIX):
        raise PipelineStateError(
            f"{operation} on {queue} was refused: a dead-letter queue is emptied by people,"
            " with SQS's own redrive (invariant S16)",
            code="dead_letter_queue",
            details={"queue": queue, "operation": operation},
        )
