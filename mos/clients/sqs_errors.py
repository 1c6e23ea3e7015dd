"""What SQS answers when it does not do as asked, as data.

Codes come in two spellings (`AWS.SimpleQueueService.X` from the former query
protocol, `X` from the JSON one); both are read. A receipt that is no longer
ours has three faces: `MessageNotInflight`, `ReceiptHandleIsInvalid`, and what
the service really sends for a message that is gone, an `InvalidParameterValue`
whose text says so (aws/aws-sdk-net#1927).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, ReadTimeoutError
from botocore.exceptions import ConnectionError as BotoConnectionError

from mos.domain.errors import QueueError

ForeignError = (BotoCoreError, ClientError)
"""What a boto3 call can raise."""


class Outcome(StrEnum):
    """What became of one entry of a batch."""

    OK = "ok"
    LEASE_LOST = "lease_lost"
    """The receipt is no longer ours: somebody else may hold the message. The lease in the state decides."""
    TRY_AGAIN = "try_again"
    """Throttled, timed out or unanswered: the same call may succeed later, and may even have happened."""
    REFUSED = "refused"
    """The same call will never succeed: past the 12 hours of a receipt, no permission, no such queue."""


_QUERY_PREFIX = "AWS.SimpleQueueService."
_ALIASES = {"NonExistentQueue": "QueueDoesNotExist", "QueueAlreadyExists": "QueueNameExists"}
_LEASE_LOST = frozenset({"MessageNotInflight", "ReceiptHandleIsInvalid"})
_LEASE_LOST_TEXT = "not available for visibility timeout change"
_TRANSIENT = frozenset(
    {
        "RequestThrottled", "Throttling", "ThrottlingException", "ThrottledException", "KmsThrottled",
        "TooManyRequestsException", "RequestLimitExceeded", "OverLimit", "InternalError", "InternalFailure",
        "InternalServerError", "ServiceUnavailable", "RequestTimeout", "RequestTimeoutException",
    }
)  # fmt: skip
_SERVER_ERRORS = 500
_TOO_MANY_REQUESTS = 429
_LONGEST_TEXT = 300

_ADVICE = {
    "QueueDoesNotExist": "create the queue, or correct its name in pipeline.toml",
    "AccessDenied": "grant this process's role the action on the queue",
    "AccessDeniedException": "grant this process's role the action on the queue",
    "credentials": "give the process AWS credentials",
    "connection": "check that the SQS endpoint can be reached",
    "timeout": "check that the SQS endpoint can be reached",
}


def plain_code(code: object) -> str:
    """The code without the query protocol's prefix, in the JSON protocol's spelling."""
    bare = str(code or "unknown").removeprefix(_QUERY_PREFIX)
    return _ALIASES.get(bare, bare)


def outcome_of_entry(failed: Mapping[str, Any]) -> Outcome:
    """The outcome that one element of a reply's `Failed` list means."""
    return _outcome(
        plain_code(failed.get("Code")),
        str(failed.get("Message") or ""),
        transient=failed.get("SenderFault") is False,
    )


def outcome_of_error(error: QueueError) -> Outcome:
    """The outcome for every entry of a call that failed as a whole."""
    return _outcome(error.code, error.message, transient=error.retryable)


def _outcome(code: str, text: str, *, transient: bool) -> Outcome:
    if code in _LEASE_LOST or _LEASE_LOST_TEXT in text:
        return Outcome.LEASE_LOST
    return Outcome.TRY_AGAIN if transient or code in _TRANSIENT else Outcome.REFUSED


def entry_error(failed: Mapping[str, Any], *, operation: str, queue: str) -> QueueError:
    """The error of one refused entry, in our words."""
    return make_queue_error(
        plain_code(failed.get("Code")),
        str(failed.get("Message") or "no reason given"),
        operation=operation,
        queue=queue,
        retryable=outcome_of_entry(failed) is Outcome.TRY_AGAIN,
    )


def queue_error(error: BotoCoreError | ClientError, *, operation: str, queue: str) -> QueueError:
    """Our error for a foreign one, which the caller chains as its cause.

    `details["ambiguous"]` is true where the call may have happened although no
    answer came: a send may be in the queue, a delete may be done.
    """
    if isinstance(error, ClientError):
        return _from_answer(error, operation=operation, queue=queue)
    code = _code_without_answer(error)
    return make_queue_error(
        code, str(error), operation=operation, queue=queue,
        retryable=code in {"timeout", "connection"}, ambiguous=isinstance(error, HTTPClientError),
    )  # fmt: skip


def _from_answer(error: ClientError, *, operation: str, queue: str) -> QueueError:
    said = error.response.get("Error", {})
    code = plain_code(said.get("Code"))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    failing = status is not None and (status >= _SERVER_ERRORS or status == _TOO_MANY_REQUESTS)
    return make_queue_error(
        code, str(said.get("Message") or "no reason given"), operation=operation, queue=queue, status=status,
        retryable=failing or code in _TRANSIENT, ambiguous=status is not None and status >= _SERVER_ERRORS,
    )  # fmt: skip


def _code_without_answer(error: BotoCoreError) -> str:
    if isinstance(error, ReadTimeoutError) or "Timeout" in type(error).__name__:
        return "timeout"
    if isinstance(error, (HTTPClientError, BotoConnectionError)):
        return "connection"
    return "credentials" if "Credential" in type(error).__name__ else "bad_request"


def make_queue_error(
    code: str,
    text: str,
    *,
    operation: str,
    queue: str,
    retryable: bool,
    status: int | None = None,
    ambiguous: bool = False,
) -> QueueError:
    """One sentence that names the call, the queue, the reason and what to do."""
    advice = _ADVICE.get(code)
    reason = " ".join(text.split())[:_LONGEST_TEXT]
    return QueueError(
        f"{operation} on queue {queue} failed ({code}): {reason}" + (f"; {advice}" if advice else ""),
        code=code,
        status=status,
        retryable=retryable,
        details={"operation": operation, "queue": queue, "ambiguous": ambiguous},
    )
