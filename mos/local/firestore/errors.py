"""What the engine refuses, with the status code and the shape of text of the real service.

Refused(code, message)       an answer to the client
Blocked(holders)             not an answer: a lock of another transaction is in the way; wait and call again
"""

from __future__ import annotations

from collections.abc import Collection

from grpc import StatusCode

CONTENTION = "Too much contention on these documents. Please try again."
CROSS_TRANSACTION = (
    "Aborted due to cross-transaction contention. This occurs when multiple transactions attempt to access the "
    "same data, requiring Firestore to abort at least one in order to enforce serializability."
)
LOCK_TIMEOUT = "Transaction lock timeout."
CLOSED = "Transaction is invalid or closed."
EXPIRED = "The referenced transaction has expired or is no longer valid."


class Refused(Exception):
    """The service answers with this status."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Blocked(Exception):
    """Locks of other transactions are in the way; `answer` is what to say when waiting took too long."""

    def __init__(self, holders: Collection[bytes], answer: Refused) -> None:
        super().__init__(answer.message)
        self.holders = frozenset(holders)
        self.answer = answer


def invalid(message: str) -> Refused:
    """INVALID_ARGUMENT."""
    return Refused(StatusCode.INVALID_ARGUMENT, message)


def aborted(message: str = CONTENTION) -> Refused:
    """ABORTED: the client may run its transaction again."""
    return Refused(StatusCode.ABORTED, message)


def failed_precondition(message: str) -> Refused:
    """FAILED_PRECONDITION."""
    return Refused(StatusCode.FAILED_PRECONDITION, message)


def not_found(message: str) -> Refused:
    """NOT_FOUND."""
    return Refused(StatusCode.NOT_FOUND, message)


def already_exists(name: str) -> Refused:
    """ALREADY_EXISTS for a document."""
    return Refused(StatusCode.ALREADY_EXISTS, f"Document already exists: {name}")


def unimplemented(message: str) -> Refused:
    """UNIMPLEMENTED."""
    return Refused(StatusCode.UNIMPLEMENTED, message)
