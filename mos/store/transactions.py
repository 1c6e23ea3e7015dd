"""The one transaction wrapper of the product.

The stock client retries ABORTED only on commit and hides what happened in
`ValueError`; a commit that was applied but whose answer was lost surfaces as
`InvalidArgument`, `AlreadyExists` or `FailedPrecondition`. So every operation
carries a token, which is the id of the log entry that its transaction creates:

* ABORTED (from a read or from the commit) → again, with jitter;
* anything ambiguous → read the log entry back: it is there, the operation
  happened; it is not, the operation runs again *with the same token*, and its
  transaction reads that log entry first, so that a late first commit is either
  seen or makes the second one fail instead of applying twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError, UnknownOutcome
from mos.runtime import Runtime

T = TypeVar("T")

ATTEMPTS = 10
BACKOFF_BASE = 0.02
BACKOFF_MAX = 2.0

PASSING = (
    google.Aborted,
    google.ServiceUnavailable,
    google.DeadlineExceeded,
    google.ResourceExhausted,
    google.InternalServerError,
    google.Cancelled,
    google.Unknown,
    google.RetryError,
)
"""Errors that say nothing about the request itself."""


DEFINITE = (google.NotFound, google.AlreadyExists, google.FailedPrecondition, google.InvalidArgument)
"""Refusals. From a commit they may also mean that the client sent it twice and the first one was applied."""
REFUSALS = 3
"""After so many refusals without a trace in the log, the refusal is real."""


@dataclass(frozen=True)
class Applied(Generic[T]):
    """A transaction that was committed; `read_back` where its answer was lost and its witness found."""

    value: T
    commit_time: datetime | None
    read_back: bool = False


class _Attempt:
    """What one attempt got to."""

    def __init__(self) -> None:
        self.at_commit = False
        self.wrote = False
        self.raised: Exception | None = None
        """What the body itself raised: a rollback that fails afterwards must not hide it."""

    @property
    def committing(self) -> bool:
        """Whether a commit with writes went out."""
        return self.at_commit and self.wrote


Body = Callable[[firestore.Transaction, int], tuple[T, bool]]
"""(transaction, number of this try) → (value, whether anything was written)."""


class _Run(Generic[T]):
    """The tries of one operation and what is known of them."""

    def __init__(self, witness: firestore.DocumentReference) -> None:
        self.witness = witness
        self.values: dict[int, T] = {}
        self.sent_a_commit = False
        self.doubtful: BaseException | None = None
        """Why a commit may have been applied, or may still be: once there, only the witness removes it."""
        self.refusals = 0
        self.last: BaseException | None = None

    def learn(self, error: BaseException, attempt: _Attempt) -> Applied[T] | None:
        """Take in a failed try; the result if it turns out that it happened."""
        self.last = error
        self.sent_a_commit |= attempt.committing
        refused = isinstance(error, DEFINITE)
        self.refusals += refused
        ambiguous = attempt.committing and not isinstance(error, google.Aborted)
        if ambiguous and not refused:
            self.doubtful = error
        if not ambiguous and self.doubtful is None:
            return None
        try:
            return self.found(self.witness.get())
        except (google.GoogleAPICallError, google.RetryError) as unread:
            self.doubtful = self.doubtful or unread
            return None

    def found(self, snapshot: firestore.DocumentSnapshot[Any]) -> Applied[T] | None:
        """The result of the try that left this witness."""
        if not snapshot.exists:
            return None
        return Applied(self.values[snapshot.get("try")], snapshot.create_time, read_back=True)

    @property
    def hopeless(self) -> bool:
        """Whether another try cannot help."""
        return not isinstance(self.last, (*PASSING, *DEFINITE)) or self.refusals >= REFUSALS

    def gave_up(self) -> StateStoreError:
        """What to raise when no try succeeded."""
        if self.doubtful is not None:
            error: StateStoreError = UnknownOutcome(f"a write may or may not have happened: {self.doubtful}")
        elif isinstance(self.last, google.Aborted):
            error = StateStoreError("too much contention; nothing was written, try again", code="contention")
        else:
            error = StateStoreError(f"the state store refused: {self.last}", code=type(self.last).__name__)
        error.__cause__ = self.doubtful or self.last
        return error


def run(
    client: firestore.Client,
    body: Body[T],
    *,
    witness: firestore.DocumentReference,
    runtime: Runtime,
    attempts: int = ATTEMPTS,
) -> Applied[T]:
    """Run `body` in a transaction until its outcome is known.

    `witness` is the document that a writing body creates, with the number of
    its try in the field `try`.

    Raises:
        StateStoreError: nothing was written; `code` is `contention` or names the refusal.
        UnknownOutcome: it may have been written, and could not be read back.
        AppError: whatever the body raised.
    """
    run = _Run[T](witness)
    for number in range(1, attempts + 1):
        if number > 1:
            runtime.sleep(runtime.uniform(0.5, 1.0) * min(BACKOFF_MAX, BACKOFF_BASE * 2**number))
        attempt = _Attempt()
        try:
            return _once(client, body, number, run, attempt)
        except Exception as error:
            if attempt.raised is not None:
                raise attempt.raised from attempt.raised.__cause__
            answer = _google_error(error)
            if answer is None:
                raise
            found = run.learn(answer, attempt)
        if found is not None:
            return found
        if run.hopeless:
            break
    raise run.gave_up()


def _once(client: firestore.Client, body: Body[T], number: int, run: _Run[T], attempt: _Attempt) -> Applied[T]:
    transaction = client.transaction(max_attempts=1)

    @firestore.transactional
    def work(inner: firestore.Transaction) -> T | Applied[T]:
        # Inside the transaction: an earlier commit that lands only now makes this one fail, whatever the body does.
        earlier = run.found(run.witness.get(transaction=inner)) if run.sent_a_commit else None
        if earlier is not None:
            return earlier
        value, attempt.wrote = _body(body, inner, number, attempt)
        run.values[number] = value
        attempt.at_commit = True
        return value

    outcome: T | Applied[T] = work(transaction)
    return outcome if isinstance(outcome, Applied) else Applied(outcome, transaction.commit_time)


def _body(body: Body[T], transaction: firestore.Transaction, number: int, attempt: _Attempt) -> tuple[T, bool]:
    try:
        return body(transaction, number)
    except (google.GoogleAPICallError, google.RetryError):
        raise
    except Exception as error:
        attempt.raised = error
        raise


def _google_error(error: BaseException) -> google.GoogleAPICallError | google.RetryError | None:
    """The service's own answer inside what the client raised."""
    for link in _chain(error):
        if isinstance(link, google.GoogleAPICallError | google.RetryError):
            return link
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, its causes and its contexts, the deepest first.

    The deepest is what happened first: a rollback that fails afterwards must not hide it.
    """
    links: list[BaseException] = []
    while error is not None and error not in links:
        links.append(error)
        error = error.__cause__ or error.__context__
    yield from reversed(links)
