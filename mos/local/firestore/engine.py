"""The database: commits, reads and transactions over one store. Never waits: who must wait gets `Blocked`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mos.local.firestore import mutation
from mos.local.firestore.clock import Clock, CommitClock, from_stamp, system_clock
from mos.local.firestore.composites import CompositeIndexes
from mos.local.firestore.errors import Blocked, Refused, failed_precondition, invalid, not_found
from mos.local.firestore.history import RETENTION
from mos.local.firestore.meter import Meter
from mos.local.firestore.mutation import Doc, Mutation
from mos.local.firestore.names import check_database
from mos.local.firestore.query import Query
from mos.local.firestore.storage import Memory, Storage
from mos.local.firestore.store import Change, Store
from mos.local.firestore.transactions import IDLE_SECONDS, Asked, Locking, Transaction, Transactions

DEFAULT_LOCK_TIMEOUT = 2.0
Listener = Callable[[Sequence[Change], int], None]


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit's time and, per write, the document's version after the commit (None = absent) and transform results."""

    time: int
    results: list[tuple[int | None, list[Any]]]


@dataclass(slots=True)
class Reading:
    """One read request's view: at `time` (None = the latest), inside a transaction or not."""

    time: int | None
    read_time: int
    transaction: Transaction | None = None
    started: bool = False

    def note_names(self, names: Iterable[str]) -> None:
        """Remember documents that the transaction has read."""
        if self.transaction is not None and not self.transaction.read_only:
            self.transaction.names.update(names)

    def note_query(self, query: Query, docs: Iterable[Doc]) -> None:
        """Remember a query that the transaction has asked, and its answer."""
        if self.transaction is not None and not self.transaction.read_only:
            self.transaction.asked.append(Asked(query, tuple((doc.name, doc.updated) for doc in docs)))


class Engine:
    """A Firestore database in this process.

    Args:
        clock: gives the time; commit times strictly grow even if it stands still.
        storage: where documents survive the process; in memory by default.
        locking: the concurrency mode of transactions that do not choose one; by default `Locking.default()`.
        lock_timeout: seconds that a pessimistic wait may take.
        project: the only project that is served; None = any.
        indexes: the composite indexes that exist; None = a query never wants one.
        idle_seconds: a transaction that is not used for so long ends.
        nonce: makes transaction ids unlike those of an earlier process on the same data.
    """

    def __init__(
        self,
        *,
        clock: Clock = system_clock,
        storage: Storage | None = None,
        locking: Locking | str | None = None,
        lock_timeout: float = DEFAULT_LOCK_TIMEOUT,
        project: str | None = None,
        nonce: bytes = b"",
        indexes: CompositeIndexes | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.lock = threading.RLock()
        self.released = threading.Condition(self.lock)
        self.storage = storage or Memory()
        self.store = Store()
        self.store.load(self.storage.load())
        self.clock = CommitClock(clock, self.storage.last_commit())
        self.store.history.horizon = self.clock.last
        self.locking = Locking(locking) if locking is not None else Locking.default()
        self.lock_timeout = lock_timeout
        self.project = project
        self.indexes = indexes
        self.transactions = Transactions(clock=self.clock, locking=self.locking, nonce=nonce, idle_seconds=idle_seconds)
        self.meter = Meter()
        self.listeners: list[Listener] = []

    def check_database(self, database: str) -> str:
        """A database's name, if this engine serves it."""
        check_database(database)
        if self.project is not None and database.split("/")[1] != self.project:
            raise not_found(
                f"The database {database} does not exist here: this server was started for project "
                f"{self.project}; correct the client's project or the server's --project."
            )
        return database

    # Reads

    def read(self, database: str, request: Any) -> Reading:
        """The view that a read request asks for by its `consistency_selector`."""
        self.check_database(database)
        match request.WhichOneof("consistency_selector"):
            case "transaction":
                return self._within(self.transactions.get(request.transaction, database))
            case "new_transaction":
                reading = self._within(self.begin(database, request.new_transaction))
                reading.started = True
                return reading
            case "read_time":
                return self._as_of(from_stamp(request.read_time))
            case _:
                return Reading(None, self.clock.read_time())

    def _as_of(self, time: int) -> Reading:
        if time > self.clock.read_time():
            raise invalid("The read_time lies in the future.")
        self.check_time(time)
        return Reading(time, time)

    def check_time(self, time: int) -> None:
        """Refuse times whose versions are no longer kept, with FAILED_PRECONDITION."""
        if time < self.clock.now() - RETENTION:
            raise failed_precondition("The requested 'read_time' is too old.")
        self.store.check_time(time)

    def _within(self, transaction: Transaction) -> Reading:
        if transaction.pessimistic and not transaction.read_only:
            return Reading(None, self.clock.read_time(), transaction)
        if transaction.snapshot is None:
            transaction.snapshot = self.clock.read_time()
        return Reading(transaction.snapshot, transaction.snapshot, transaction)

    def get(self, reading: Reading, names: Sequence[str]) -> list[Doc | None]:
        """Documents by name (None = absent).

        Raises:
            Blocked: a retried pessimistic transaction waits for the one before it.
        """
        transaction = reading.transaction
        if transaction is not None and transaction.pessimistic:
            self._queue_up(reading, transaction, names)
        reading.note_names(names)
        return [self.store.at(name, reading.time) for name in names]

    def _queue_up(self, reading: Reading, transaction: Transaction, names: Sequence[str]) -> None:
        try:
            self.transactions.queue_up(transaction, names)
        except Blocked:
            if reading.started:  # the call will be made again and start another one
                self.transactions.end(transaction)
            raise

    def run(self, reading: Reading, query: Query) -> list[Doc]:
        """A query's answer."""
        docs = list(self.store.run(query, reading.time))
        reading.note_query(query, docs)
        return docs

    def count(self, reading: Reading, query: Query, up_to: int | None) -> int:
        """How many documents answer a query; outside transactions."""
        return self.store.count(query, reading.time, up_to)

    def check_index(self, query: Query) -> None:
        """Refuse a query that production would refuse for want of a composite index.

        Raises:
            Refused: FAILED_PRECONDITION that prints the index to add.
        """
        if self.indexes is not None:
            self.indexes.check(query)

    # Transactions

    def begin(self, database: str, options: Any) -> Transaction:
        """Start a transaction."""
        self.check_database(database)
        transaction = self.transactions.begin(database, options)
        if transaction.read_only:
            read_time = options.read_only
            exact = read_time.HasField("read_time")
            reading = self._as_of(from_stamp(read_time.read_time)) if exact else None
            transaction.snapshot = reading.read_time if reading else self.clock.read_time()
        return transaction

    def rollback(self, database: str, transaction_id: bytes) -> None:
        """End a transaction without writing."""
        self.transactions.rollback(transaction_id, database)
        self.released.notify_all()

    # Commits

    def commit(self, database: str, writes: Sequence[Any], transaction_id: bytes = b"") -> Committed:
        """Apply writes, all or none.

        Raises:
            Refused: a write, precondition or transaction is refused; nothing was written.
            Blocked: locks are in the way; call again.
        """
        self.check_database(database)
        mutations = [self._checked(database, write) for write in writes]
        mutation.check_together(mutations)
        if not transaction_id:
            return self._apply(mutations, None)
        transaction = self.transactions.get(transaction_id, database)
        if transaction.read_only and mutations:
            raise invalid("Cannot modify entities in a read-only transaction.")
        try:
            self.transactions.validate(transaction, self.store)
            committed = self._apply(mutations, transaction)
        except Refused:
            self.transactions.wound(transaction)
            self.released.notify_all()
            raise
        self.transactions.end(transaction)
        self.released.notify_all()
        return committed

    def await_locks(self, database: str, writes: Iterable[Any]) -> None:
        """Before writes that are applied one by one: let none of them be the one that has to wait.

        Raises:
            Blocked: a lock is in the way of one of them; none was applied.
        """
        for write in writes:
            try:
                changes = self._stage([self._checked(database, write)], self._next())[0]
            except Refused:
                continue
            self.transactions.make_way(changes, None)

    @staticmethod
    def _checked(database: str, write: Any) -> Mutation:
        checked = mutation.check(write)
        if not checked.name.startswith(f"{database}/documents/"):
            raise invalid(f"The document {checked.name} is not in the database {database}.")
        return checked

    def _apply(self, mutations: Sequence[Mutation], transaction: Transaction | None) -> Committed:
        now = self._next()
        changes, results = self._stage(mutations, now)
        self.transactions.make_way(changes, transaction)
        self._publish(changes, now)
        return Committed(now, results)

    def _next(self) -> int:
        return max(self.clock.last + 1, self.clock.now())

    def _stage(
        self, mutations: Sequence[Mutation], now: int
    ) -> tuple[list[Change], list[tuple[int | None, list[Any]]]]:
        """What the writes would change at time `now`, and their results; nothing is changed yet."""
        staged: dict[str, Doc | None] = {}
        results: list[list[Any]] = []
        for step in mutations:
            before = staged[step.name] if step.name in staged else self.store.docs.get(step.name)
            outcome = mutation.apply(step, before, self.store.docs.get(step.name), now)
            staged[step.name] = outcome.doc
            results.append(outcome.results)
        changes = [
            Change(name, before, after)
            for name, after in staged.items()
            if (before := self.store.docs.get(name)) is not after
        ]
        versions = [(doc.updated if doc else None) for doc in (staged[step.name] for step in mutations)]
        return changes, list(zip(versions, results, strict=True))

    def _publish(self, changes: Sequence[Change], now: int) -> None:
        self.clock.last = now
        if not changes:
            return
        self.storage.save(changes, now)
        self.store.apply(changes, now)
        for listener in self.listeners:
            listener(changes, now)

    def reset(self) -> None:
        """Remove every document and transaction; times go on growing."""
        now = self.clock.commit_time()
        self.storage.clear(now)
        changes = [Change(name, doc, None) for name, doc in self.store.docs.items()]
        self.store = Store()
        self.store.history.horizon = now
        self.transactions.clear()
        self.released.notify_all()
        for listener in self.listeners:
            listener(changes, now)

    def close(self) -> None:
        """Let the data file go."""
        self.storage.close()
