"""What SQS refuses, with its codes and texts, raised as botocore raises them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

LONGEST_BODY = 1_048_576
LONGEST_DELAY = 900
LONGEST_VISIBILITY = 43_200
LONGEST_POLL = 20
BATCH = 10
MOST_ATTRIBUTES = 10

_QUERY_CODES = {
    "QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue",
    "QueueNameExists": "QueueAlreadyExists",
    "MessageNotInflight": "AWS.SimpleQueueService.MessageNotInflight",
    "EmptyBatchRequest": "AWS.SimpleQueueService.EmptyBatchRequest",
    "TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
    "BatchEntryIdsNotDistinct": "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
}


class Refusal(Exception):
    """One entry or call that SQS answers with an error; becomes a `Failed` entry or a `ClientError`."""

    def __init__(self, code: str, text: str, *, status: int = 400) -> None:
        super().__init__(text)
        self.code = _QUERY_CODES.get(code, code)
        self.json_code = code
        self.text = text
        self.status = status

    def error(self, method: str) -> ClientError:
        """As botocore raises it from a client's method."""
        operation = "".join(part.capitalize() for part in method.split("_"))
        said = {
            "Message": self.text,
            "Code": self.code,
            "QueryErrorCode": self.json_code,
            "Type": "Sender" if self.status < 500 else "Receiver",  # noqa: PLR2004 - HTTP's own boundary
        }
        metadata = {"RequestId": "model", "HTTPStatusCode": self.status, "HTTPHeaders": {}, "RetryAttempts": 0}
        response: Any = {"Error": said, "ResponseMetadata": metadata}
        return ClientError(response, operation)

    def entry(self, entry_id: str) -> dict[str, Any]:
        """As an element of a batch reply's `Failed`."""
        return {"Id": entry_id, "SenderFault": self.status < 500, "Code": self.code, "Message": self.text}  # noqa: PLR2004


def no_queue() -> Refusal:
    """The queue's URL or name is unknown."""
    return Refusal("QueueDoesNotExist", "The specified queue does not exist.")


def bad_receipt(handle: str) -> Refusal:
    """The receipt handle was never issued by this queue, or a newer delivery replaced it."""
    return Refusal("ReceiptHandleIsInvalid", f'The input receipt handle "{handle}" is not a valid receipt handle.')


def not_in_flight(handle: str) -> Refusal:
    """The message is visible again."""
    return Refusal("MessageNotInflight", f"The message referred to by {handle} isn't in flight.")


def message_gone(handle: str) -> Refusal:
    """The message was deleted or moved away: the text that the real service sends."""
    return Refusal(
        "InvalidParameterValue",
        f"Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available"
        " for visibility timeout change.",
    )


def past_the_cap(seconds: int) -> Refusal:
    """Twelve hours since the receive are over, or would be: refused, not trimmed."""
    return Refusal(
        "InvalidParameterValue",
        f"Value {seconds} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message"
        f" is beyond the limit [{LONGEST_VISIBILITY} seconds]",
    )


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a number out of SQS's range."""
    if not low <= value <= high:
        raise Refusal(
            "InvalidParameterValue",
            f"Value {value} for parameter {name} is invalid. Reason: Must be between {low} and {high}, if provided.",
        )


def check_message(body: str, attributes: Mapping[str, Any]) -> None:
    """Refuse what SQS cannot carry: empty, over 1 MiB, or characters outside its set."""
    if not body:
        raise Refusal("MissingParameter", "The request must contain the parameter MessageBody.")
    if not all(_may_carry(character) for character in set(body)):
        raise Refusal("InvalidMessageContents", "Invalid binary character was found in the message body.")
    size = len(body.encode()) + sum(
        len(name.encode()) + len(str(value.get("StringValue", "")).encode()) for name, value in attributes.items()
    )
    if size > LONGEST_BODY:
        raise Refusal(
            "InvalidParameterValue",
            f"One or more parameters are invalid. Reason: Message must be shorter than {LONGEST_BODY} bytes.",
        )
    if len(attributes) > MOST_ATTRIBUTES:
        raise Refusal("InvalidParameterValue", f"Number of message attributes exceeds the limit [{MOST_ATTRIBUTES}].")


def _may_carry(character: str) -> bool:
    point = ord(character)
    return point in {0x9, 0xA, 0xD} or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point > 0xFFFF  # noqa: PLR2004 - SQS's table


def check_batch(entries: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a batch that is empty, too long, or repeats an id."""
    if not entries:
        raise Refusal("EmptyBatchRequest", "There should be at least one entry in the request.")
    if len(entries) > BATCH:
        raise Refusal(
            "TooManyEntriesInBatchRequest",
            f"Maximum number of entries per request are {BATCH}. You have sent {len(entries)}.",
        )
    ids = [entry["Id"] for entry in entries]
    repeated = next((one for one in ids if ids.count(one) > 1), None)
    if repeated is not None:
        raise Refusal("BatchEntryIdsNotDistinct", f"Id {repeated} repeated.")
