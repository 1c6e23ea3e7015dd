"""Transactions: what they have read, whether that still holds, and in the pessimistic mode what they lock.

Optimistic: all reads come from one snapshot; the commit is refused with ABORTED where a document that was read,
or the answer to a query that was asked, is no longer what it was.
Pessimistic: reads lock documents and queries until the transaction ends. Who is older wins: an older writer aborts
the younger holders of locks it needs, a younger one waits. Waits go from younger to older, so there are no deadlocks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from mos.local.firestore.clock import SECOND, CommitClock
from mos.local.firestore.errors import (
    CLOSED,
    CONTENTION,
    CROSS_TRANSACTION,
    EXPIRED,
    LOCK_TIMEOUT,
    Blocked,
    aborted,
    invalid,
)
from mos.local.firestore.query import Query
from mos.local.firestore.scan import ranges
from mos.local.firestore.store import Change, Store

TOTAL_SECONDS = 270
IDLE_SECONDS = 60
REMEMBERED = 10_000
"""Finished transactions whose ids are still known, so that rolling one back again is no error."""
PESSIMISTIC_MODE = 2  # TransactionOptions.ConcurrencyMode


LOCKING_VARIABLE = "MOS_FIRESTORE_LOCKING"


class Locking(StrEnum):
    """The concurrency mode of the database."""

    OPTIMISTIC = "optimistic"
    PESSIMISTIC = "pessimistic"

    @classmethod
    def default(cls) -> Locking:
        """Optimistic, unless the environment says otherwise: so that any suite can be run in either mode.

        Raises:
            ValueError: the variable names neither mode.
        """
        return cls(os.environ.get(LOCKING_VARIABLE) or cls.OPTIMISTIC)


class State(StrEnum):
    """Where a transaction is."""

    ACTIVE = "active"
    WOUNDED = "wounded"  # aborted by an older one, or at its commit
    EXPIRED = "expired"


@dataclass(slots=True)
class Asked:
    """A query that was asked in a transaction and the versions it gave; `shown` limits how far it was read."""

    query: Query
    answer: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Transaction:
    """One transaction. `age` is the place in line: a retry keeps the one of its first attempt."""

    id: bytes
    database: str
    age: int
    started: int
    used: int
    read_only: bool = False
    pessimistic: bool = False
    retried: bool = False
    snapshot: int | None = None
    state: State = State.ACTIVE
    names: set[str] = field(default_factory=set)
    asked: list[Asked] = field(default_factory=list)


class Ended(NamedTuple):
    """What is remembered of a finished transaction: its place in line, for a retry."""

    age: int
    read_only: bool


class Transactions:
    """The table of live transactions. Not thread-safe: the engine holds its lock around every call."""

    def __init__(
        self, *, clock: CommitClock, locking: Locking, nonce: bytes = b"", idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._clock = clock
        self._locking = locking
        self._nonce = nonce
        self._idle = int(idle_seconds * SECOND)
        self._count = 0
        self._live: dict[bytes, Transaction] = {}
        self._ended: dict[bytes, Ended] = {}

    def __len__(self) -> int:
        return sum(transaction.state is State.ACTIVE for transaction in self._live.values())

    def begin(self, database: str, options: Any) -> Transaction:
        """Start a transaction as `TransactionOptions` say."""
        self.expire()
        self._count += 1
        now = self._clock.now()
        writes = options.read_write
        age = self._age_of(writes.retry_transaction)
        transaction = Transaction(
            id=b"%s-%d" % (self._nonce, self._count) if self._nonce else b"t%d" % self._count,
            database=database,
            age=self._count if age is None else age,
            started=now,
            used=now,
            read_only=options.HasField("read_only"),
            pessimistic=self._is_pessimistic(writes.concurrency_mode),
            retried=bool(writes.retry_transaction),
        )
        self._live[transaction.id] = transaction
        return transaction

    def _age_of(self, transaction_id: bytes) -> int | None:
        """The place in line that a retry takes over."""
        if not transaction_id:
            return None
        if transaction_id in self._live:
            self.end(self._live[transaction_id])
        earlier = self._ended.get(transaction_id)
        if earlier is None or earlier.read_only:
            raise invalid("Invalid transaction.")
        return earlier.age

    def _is_pessimistic(self, mode: int) -> bool:
        return mode == PESSIMISTIC_MODE if mode else self._locking is Locking.PESSIMISTIC

    def get(self, transaction_id: bytes, database: str) -> Transaction:
        """A transaction that may go on.

        Raises:
            Refused: INVALID_ARGUMENT where it is unknown, finished or expired; ABORTED where it was aborted.
        """
        self.expire()
        transaction = self._live.get(transaction_id)
        if transaction is None or transaction.database != database:
            raise invalid(CLOSED)
        if transaction.state is State.WOUNDED:
            raise aborted(CROSS_TRANSACTION)
        if transaction.state is State.EXPIRED:
            raise invalid(EXPIRED)
        transaction.used = self._clock.now()
        return transaction

    def rollback(self, transaction_id: bytes, database: str) -> None:
        """End a transaction that was not committed; an aborted one can be rolled back too."""
        if transaction_id in self._ended:
            return
        transaction = self._live.get(transaction_id)
        if transaction is None or transaction.database != database:
            raise invalid(CLOSED)
        self.end(transaction)

    def end(self, transaction: Transaction) -> None:
        """Forget a transaction and its locks."""
        del self._live[transaction.id]
        self._ended[transaction.id] = Ended(transaction.age, transaction.read_only)
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def clear(self) -> None:
        """Forget every transaction."""
        self._live.clear()

    def wound(self, transaction: Transaction) -> None:
        """Abort a transaction: its locks go, its place in line stays for a retry."""
        self._close(transaction, State.WOUNDED)

    def _close(self, transaction: Transaction, state: State) -> None:
        transaction.state = state
        transaction.names.clear()
        transaction.asked.clear()

    def expire(self) -> None:
        """Close what has been idle or open for too long, and forget what has been closed as long."""
        now = self._clock.now()
        for transaction in list(self._live.values()):
            if now - transaction.started > 2 * TOTAL_SECONDS * SECOND:
                del self._live[transaction.id]
            elif transaction.state is State.ACTIVE and self._is_over(transaction, now):
                self._close(transaction, State.EXPIRED)

    def _is_over(self, transaction: Transaction, now: int) -> bool:
        return now - transaction.used > self._idle or now - transaction.started > TOTAL_SECONDS * SECOND

    # Locks of the pessimistic mode

    def holders(self, changes: Iterable[Change], but: Transaction | None) -> list[Transaction]:
        """The pessimistic transactions whose reads these changes would disturb."""
        touched = list(changes)
        return [
            other
            for other in self._live.values()
            if other is not but and other.pessimistic and other.state is State.ACTIVE and _disturbs(other, touched)
        ]

    def make_way(self, changes: Iterable[Change], writer: Transaction | None) -> None:
        """Let a writer through: younger holders of locks are aborted, older ones are waited for.

        Raises:
            Blocked: an older transaction holds a lock; a write outside transactions is younger than any.
        """
        self.expire()
        holders = self.holders(changes, writer)
        older = [other for other in holders if writer is None or other.age < writer.age]
        if older:
            raise Blocked([other.id for other in older], aborted(CONTENTION if writer is None else LOCK_TIMEOUT))
        for other in holders:
            self.wound(other)

    def queue_up(self, reader: Transaction, names: Iterable[str]) -> None:
        """A retried transaction keeps its place in line: it reads after the older holders have finished.

        Raises:
            Blocked: an older transaction has read one of the documents.
        """
        if not reader.retried:
            return
        wanted = set(names)
        ahead = [
            other.id
            for other in self._live.values()
            if other.pessimistic
            and not other.read_only
            and other.age < reader.age
            and not wanted.isdisjoint(other.names)
        ]
        if ahead:
            raise Blocked(ahead, aborted(LOCK_TIMEOUT))

    # Validation of the optimistic mode

    def validate(self, transaction: Transaction, store: Store) -> None:
        """Refuse a commit whose reads no longer hold.

        Raises:
            Refused: ABORTED.
        """
        if transaction.snapshot is None or transaction.pessimistic or transaction.read_only:
            return
        if transaction.snapshot < store.history.horizon:
            raise aborted("The transaction's snapshot is no longer kept. Please try again.")
        changed = store.history.since(transaction.snapshot)
        if not changed.isdisjoint(transaction.names) or any(
            _answers_differ(asked, changed, store) for asked in transaction.asked
        ):
            raise aborted(CONTENTION)


def _answers_differ(asked: Asked, changed: set[str], store: Store) -> bool:
    if not any(asked.query.scope.holds(name) for name in changed):
        return False
    return answer_of(store, asked.query, None) != asked.answer


def answer_of(store: Store, query: Query, time: int | None) -> tuple[tuple[str, int], ...]:
    """The identity of a query's answer: names and versions, in order."""
    return tuple((doc.name, doc.updated) for doc in store.run(query, time))


def _disturbs(holder: Transaction, changes: list[Change]) -> bool:
    return any(
        change.name in holder.names or any(_concerns(asked.query, change) for asked in holder.asked)
        for change in changes
    )


def _concerns(query: Query, change: Change) -> bool:
    """Whether a change enters, leaves or alters what a query ranges over (its limit apart)."""
    if not query.scope.holds(change.name):
        return False
    return any(
        scan.low <= key < scan.high and all(condition.matches(doc, document) for condition in scan.residual)
        for doc in (change.before, change.after)
        if doc is not None
        for document in (doc.parsed(),)
        for scan in ranges(query)
        for key in scan.spec.entries(doc, document)
    )
