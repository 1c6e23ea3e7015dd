"""SQS's replies read into values; a reply that is not SQS's becomes one clear error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from mos.clients.sqs_errors import Outcome, entry_error, make_queue_error, outcome_of_entry
from mos.domain.errors import QueueError

VISIBLE: Final = "ApproximateNumberOfMessages"
IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
DELAYED: Final = "ApproximateNumberOfMessagesDelayed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One delivery of one message."""

    message_id: str
    receipt_handle: str
    body: str
    receive_count: int
    """How often it was received, this time included; the redrive policy counts the same."""
    sent_at_ms: int
    """When it was sent, by the service's clock, in milliseconds since 1970."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Its String and Number attributes; binary ones are not ours and are left out."""


@dataclass(frozen=True, slots=True)
class EntryResult:
    """What became of one receipt; `error` says why unless the outcome is OK."""

    receipt_handle: str
    outcome: Outcome
    error: QueueError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """Approximate numbers of messages, as SQS counts them."""

    visible: int
    in_flight: int
    delayed: int

    @property
    def total(self) -> int:
        """Everything that is in the queue."""
        return self.visible + self.in_flight + self.delayed


@contextmanager
def reading(operation: str, queue: str, *, ambiguous: bool = False) -> Iterator[None]:
    """Turn a missing or mistyped field into a `QueueError` with the code `malformed_reply`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise make_queue_error(
            "malformed_reply",
            f"the reply is not SQS's ({type(error).__name__}: {error}); check AWS_ENDPOINT_URL",
            operation=operation,
            queue=queue,
            retryable=True,
            ambiguous=ambiguous,
        ) from error


def read_received(reply: Mapping[str, Any]) -> list[Received]:
    """The messages of a ReceiveMessage reply; an empty queue's reply has no `Messages`."""
    return [_received(raw) for raw in reply.get("Messages") or ()]


def _received(raw: Mapping[str, Any]) -> Received:
    attributes = raw.get("MessageAttributes") or {}
    return Received(
        message_id=text(raw["MessageId"]),
        receipt_handle=text(raw["ReceiptHandle"]),
        body=text(raw["Body"]),
        receive_count=int(raw["Attributes"]["ApproximateReceiveCount"]),
        sent_at_ms=int(raw["Attributes"]["SentTimestamp"]),
        attributes={name: text(value["StringValue"]) for name, value in attributes.items() if "StringValue" in value},
    )


def read_depth(reply: Mapping[str, Any]) -> Depth:
    """The three counts of a GetQueueAttributes reply."""
    counts = reply["Attributes"]
    return Depth(visible=int(counts[VISIBLE]), in_flight=int(counts[IN_FLIGHT]), delayed=int(counts[DELAYED]))


def read_results(reply: Mapping[str, Any], handles: Sequence[str], *, operation: str, queue: str) -> list[EntryResult]:
    """One result per handle, in order; the entry's id is its index.

    An entry that the reply does not mention was perhaps not acted on: try again.
    """
    done = {text(entry["Id"]) for entry in reply.get("Successful") or ()}
    failed = {text(entry["Id"]): entry for entry in reply.get("Failed") or ()}
    results = []
    for index, handle in enumerate(handles):
        entry = failed.get(str(index))
        if entry is not None:
            error = entry_error(entry, operation=operation, queue=queue)
            results.append(EntryResult(handle, outcome_of_entry(entry), error))
        elif str(index) in done:
            results.append(EntryResult(handle, Outcome.OK))
        else:
            results.append(EntryResult(handle, Outcome.TRY_AGAIN, _unanswered(operation, queue)))
    return results


def _unanswered(operation: str, queue: str) -> QueueError:
    return make_queue_error(
        "no_answer", "the reply does not mention this entry", operation=operation, queue=queue, retryable=True,
        ambiguous=True,
    )  # fmt: skip


def text(value: object) -> str:
    """The value if it is a string.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(value, str):
        raise TypeError(f"a string was expected, not {type(value).__name__}")
    return value
