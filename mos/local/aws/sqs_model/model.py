"""SQS in memory behind boto3's signatures.

What it keeps of the service: at-least-once delivery, visibility windows that
count from the call, receive counts, redrive to the dead-letter queue at the
receive that would be one too many, delays, the 12 h cap counted from the
receive (refused, not trimmed), receipts that only the newest delivery honours,
deletes with an old receipt that succeed and delete nothing. What it leaves
out: FIFO queues, encryption, tags, permissions.

The model never sleeps: a long poll waits on `event().wait(seconds)`, which the
simulator's runtime turns into virtual time.
"""

# ruff: noqa: N803 - boto3's own parameter names

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from mos.local.aws.sqs_model.answers import BATCH, LONGEST_POLL, LONGEST_VISIBILITY, Refusal, check_batch, check_range
from mos.local.aws.sqs_model.faults import Call, Faults, Kind, Operation
from mos.local.aws.sqs_model.region import HOST, Region, queue_name
from mos.local.aws.sqs_model.state import CLOCK_STEP

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

    from mos.runtime import Event

Reply = dict[str, Any]
Around = Callable[[Call, Callable[[], Reply]], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek:
    """One message as no client sees it, for invariants."""

    message_id: str
    body: str
    receive_count: int
    visible: bool
    visible_at: float
    sent_at: float


class SqsModel:
    """One region's queues.

    Args:
        now: the service's clock, in seconds since 1970.
        event: makes the event that a long poll waits on; its `wait` takes seconds.
        faults: what goes wrong; none by default.
        around: called as `around(call, do)` for each call, so that a scheduler can switch, add latency or
            crash before and after `do()`; it returns what `do` returns.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        event: Callable[[], Event],
        faults: Faults | None = None,
        around: Around | None = None,
    ) -> None:
        self.faults = faults or Faults()
        self._region = Region(now, event, self.faults)
        self._around = around

    def client(self) -> SQSClient:
        """This model where a boto3 client is wanted."""
        return cast("SQSClient", self)

    def peek(self, queue: str) -> list[Peek]:
        """The messages of a queue, oldest first, untouched."""
        with self._region.lock:
            soon = self._region.now() + CLOCK_STEP
            return [
                Peek(
                    message_id=stored.message_id,
                    body=stored.body,
                    receive_count=stored.receive_count,
                    visible=stored.visible_at <= soon,
                    visible_at=stored.visible_at,
                    sent_at=stored.sent_at,
                )
                for stored in self._region.queue(queue)
            ]

    def drop(self, queue: str, message_id: str) -> bool:
        """Delete a message behind everybody's back; whether it was there."""
        with self._region.lock:
            state = self._region.queue(queue)
            found = [stored for stored in state if stored.message_id == message_id]
            for stored in found:
                state.remove(stored)
            return bool(found)

    def create_queue(self, *, QueueName: str, Attributes: Mapping[str, str] | None = None) -> Reply:
        """Create a queue; an existing one must have the attributes that are given."""
        return self._other(
            "create_queue", QueueName, lambda: {"QueueUrl": self._region.create(QueueName, Attributes or {}).url}
        )

    def get_queue_url(self, *, QueueName: str) -> Reply:
        """The URL of a queue."""
        return self._other("get_queue_url", QueueName, lambda: {"QueueUrl": self._region.queue(QueueName).url})

    def list_queues(self, *, QueueNamePrefix: str = "") -> Reply:
        """The URLs of the queues whose name starts so."""

        def do() -> Reply:
            queues = sorted(self._region.queues.items())
            urls = [state.url for name, state in queues if name.startswith(QueueNamePrefix)]
            return {"QueueUrls": urls} if urls else {}

        return self._other("list_queues", "", do)

    def set_queue_attributes(self, *, QueueUrl: str, Attributes: Mapping[str, str]) -> Reply:
        """Change attributes of a queue."""

        def do() -> Reply:
            self._region.queue(QueueUrl).attributes |= {name: str(value) for name, value in Attributes.items()}
            return {}

        return self._other("set_queue_attributes", QueueUrl, do)

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: Sequence[str] = ()) -> Reply:
        """The attributes that are asked for, counts included."""

        def do() -> Reply:
            state = self._region.queue(QueueUrl)
            known = {**state.attributes, **state.counts(self._region.now()), "QueueArn": state.arn}
            names = known if "All" in AttributeNames else AttributeNames
            found = {name: known[name] for name in names if name in known}
            return {"Attributes": found} if found else {}

        return self._other("get_queue_attributes", QueueUrl, do)

    def purge_queue(self, *, QueueUrl: str) -> Reply:
        """Forget all messages."""

        def do() -> Reply:
            self._region.queue(QueueUrl).clear()
            return {}

        return self._other("purge_queue", QueueUrl, do)

    def send_message(
        self,
        *,
        QueueUrl: str,
        MessageBody: str,
        DelaySeconds: int | None = None,
        MessageAttributes: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Store one message."""
        return self._call(
            Call(Operation.SEND, "send_message", queue_name(QueueUrl), (MessageBody,)),
            lambda: self._region.send(self._region.queue(QueueUrl), MessageBody, DelaySeconds, MessageAttributes or {}),
        )

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> Reply:
        """Store up to ten messages, each with its own outcome."""

        def one(entry: Mapping[str, Any]) -> Reply:
            attributes = entry.get("MessageAttributes") or {}
            state = self._region.queue(QueueUrl)
            return self._region.send(state, entry["MessageBody"], entry.get("DelaySeconds"), attributes)

        bodies = tuple(entry["MessageBody"] for entry in Entries)
        return self._call(
            Call(Operation.SEND, "send_message_batch", queue_name(QueueUrl), bodies),
            lambda: self._each(QueueUrl, Entries, one),
        )

    def receive_message(
        self,
        *,
        QueueUrl: str,
        MaxNumberOfMessages: int = 1,
        WaitTimeSeconds: int | None = None,
        VisibilityTimeout: int | None = None,
        MessageSystemAttributeNames: Sequence[str] = (),
        MessageAttributeNames: Sequence[str] = (),
    ) -> Reply:
        """Hand out visible messages, waiting for the first of them if asked to."""

        def do() -> Reply:
            state = self._region.queue(QueueUrl)
            wait = _given(WaitTimeSeconds, state.number("ReceiveMessageWaitTimeSeconds"))
            hide = _given(VisibilityTimeout, state.number("VisibilityTimeout"))
            check_range("MaxNumberOfMessages", MaxNumberOfMessages, 1, BATCH)
            check_range("WaitTimeSeconds", wait, 0, LONGEST_POLL)
            check_range("VisibilityTimeout", hide, 0, LONGEST_VISIBILITY)
            found = self._region.poll(state, MaxNumberOfMessages, hide, wait)
            shown = [_shown(one, MessageSystemAttributeNames, MessageAttributeNames) for one in found]
            return {"Messages": shown} if shown else {}

        return self._call(Call(Operation.RECEIVE, "receive_message", queue_name(QueueUrl)), do, locked=False)

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> Reply:
        """Reset the window of one message in flight."""
        return self._call(
            self._about(Operation.EXTEND, "change_message_visibility", QueueUrl, [ReceiptHandle]),
            lambda: self._region.extend(self._region.queue(QueueUrl), ReceiptHandle, VisibilityTimeout),
        )

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> Reply:
        """Reset up to ten windows, each with its own outcome."""

        def one(entry: Mapping[str, Any]) -> Reply:
            state = self._region.queue(QueueUrl)
            return self._region.extend(state, entry["ReceiptHandle"], entry["VisibilityTimeout"])

        handles = [entry["ReceiptHandle"] for entry in Entries]
        return self._call(
            self._about(Operation.EXTEND, "change_message_visibility_batch", QueueUrl, handles),
            lambda: self._each(QueueUrl, Entries, one),
        )

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: str) -> Reply:
        """Delete one message; an old receipt succeeds and deletes nothing."""
        return self._call(
            self._about(Operation.DELETE, "delete_message", QueueUrl, [ReceiptHandle]),
            lambda: self._region.delete(self._region.queue(QueueUrl), ReceiptHandle),
        )

    def delete_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> Reply:
        """Delete up to ten messages, each with its own outcome."""

        def one(entry: Mapping[str, Any]) -> Reply:
            return self._region.delete(self._region.queue(QueueUrl), entry["ReceiptHandle"])

        handles = [entry["ReceiptHandle"] for entry in Entries]
        return self._call(
            self._about(Operation.DELETE, "delete_message_batch", QueueUrl, handles),
            lambda: self._each(QueueUrl, Entries, one),
        )

    def _each(self, url: str, entries: Sequence[Mapping[str, Any]], one: Callable[[Mapping[str, Any]], Reply]) -> Reply:
        """Each entry on its own: what is refused does not stop the others."""
        self._region.queue(url)
        check_batch(entries)
        reply: dict[str, list[Reply]] = {"Successful": [], "Failed": []}
        for entry in entries:
            try:
                reply["Successful"].append({"Id": entry["Id"], **one(entry)})
            except Refusal as refusal:
                reply["Failed"].append(refusal.entry(entry["Id"]))
        return reply

    def _about(self, operation: Operation, method: str, url: str, handles: Iterable[str]) -> Call:
        name = queue_name(url)
        with self._region.lock:
            state = self._region.queues.get(name)
            bodies = tuple(self._region.body_of(state, handle) for handle in handles) if state else ()
        return Call(operation, method, name, bodies)

    def _other(self, method: str, url_or_name: str, do: Callable[[], Reply]) -> Reply:
        return self._call(Call(Operation.OTHER, method, queue_name(url_or_name)), do)

    def _call(self, call: Call, do: Callable[[], Reply], *, locked: bool = True) -> Reply:
        def with_faults() -> Reply:
            try:
                if not locked:
                    return self._with_faults(call, do)
                with self._region.lock:
                    return self._with_faults(call, do)
            except Refusal as refusal:
                raise refusal.error(call.method) from None

        return self._around(call, with_faults) if self._around else with_faults()

    def _with_faults(self, call: Call, do: Callable[[], Reply]) -> Reply:
        fault = self.faults.on_call(call, self._region.now())
        match fault.kind if fault else None:
            case Kind.THROTTLE:
                raise Refusal("RequestThrottled", "Rate exceeded.")
            case Kind.UNAVAILABLE:
                raise Refusal("ServiceUnavailable", "Service is unavailable.", status=503)
            case Kind.OUTAGE:
                raise ConnectTimeoutError(endpoint_url=HOST)
            case Kind.LOSE_REQUEST:
                raise ReadTimeoutError(endpoint_url=HOST)
            case Kind.LOSE_REPLY:
                do()
                raise ReadTimeoutError(endpoint_url=HOST)
            case _:
                return do()


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


def _shown(delivery: Reply, system: Sequence[str], attributes: Sequence[str]) -> Reply:
    """The delivery with the attributes that were asked for: all of them, or by name."""
    shown = {name: value for name, value in delivery.items() if name not in {"Attributes", "MessageAttributes"}}
    for field, asked in (("Attributes", system), ("MessageAttributes", attributes)):
        kept = {name: value for name, value in delivery[field].items() if "All" in asked or name in asked}
        if kept:
            shown[field] = kept
    return shown
