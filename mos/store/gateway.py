"""The one write gateway (law 2): every status change of a task or job is made here.

A body reads through a `Reader` and returns a `Commit` (a value). The gateway
adds each document's driver (law 1), checks the laws, writes the changed fields
and one `recoveryLog` entry with every status change (law 12), all in one
transaction whose outcome is always known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from google.cloud import firestore

from mos.domain import laws
from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.drivers import DrivenBy, Driver, driver_of_job, driver_of_task
from mos.domain.errors import PipelineStateError
from mos.domain.model import Document, Job, Task, WorkerRecord
from mos.domain.policy import Policy
from mos.runtime import Runtime
from mos.store import transactions
from mos.store.documents import COLLECTION, LOG, LOG_KEPT, D, difference, encode, read
from mos.store.queries import Query

T = TypeVar("T")


class Reader:
    """Reads inside one transaction. `now` is the read time of the first read (law 8)."""

    def __init__(self, client: firestore.Client, transaction: firestore.Transaction) -> None:
        self._client = client
        self._transaction = transaction
        self._now: datetime | None = None
        self.jobs: dict[str, Job] = {}

    @property
    def now(self) -> datetime:
        """The store's clock in this transaction."""
        if self._now is None:
            raise PipelineStateError("a transaction's first read is a document: it gives the time")
        return self._now

    def task(self, task_id: str) -> Task | None:
        return self.all(Task, [task_id])[0]

    def job(self, job_id: str) -> Job | None:
        job = self.all(Job, [job_id])[0]
        if job is not None:
            self.jobs[job_id] = job
        return job

    def task_and_job(self, task_id: str, job_id: str) -> tuple[Task | None, Job | None]:
        """Both in one call."""
        references = [self._reference(Task, task_id), self._reference(Job, job_id)]
        found = self._snapshots(references)
        task, job = read(Task, found[references[0].path]), read(Job, found[references[1].path])
        if job is not None:
            self.jobs[job_id] = job
        return task, job

    def worker(self, worker_id: str) -> WorkerRecord | None:
        return self.all(WorkerRecord, [worker_id])[0]

    def all(self, kind: type[D], ids: Iterable[str]) -> list[D | None]:
        """Documents by id, in the order asked for."""
        references = [self._reference(kind, name) for name in ids]
        if not references:
            return []
        found = self._snapshots(references)
        return [read(kind, found[reference.path]) for reference in references]

    def query(self, query: Query, kind: type[D]) -> list[D]:
        """A declared query, inside the transaction."""
        documents = [read(kind, snapshot) for snapshot in query.on(self._client).stream(transaction=self._transaction)]
        return [document for document in documents if document is not None]

    def raw(self, path: str) -> dict[str, Any] | None:
        """Any other document (configuration)."""
        snapshot = self._snapshots([self._client.document(path)])[path]
        return snapshot.to_dict() if snapshot.exists else None

    def _snapshots(self, references: list[firestore.DocumentReference]) -> dict[str, firestore.DocumentSnapshot[Any]]:
        snapshots = list(self._transaction.get_all(references))
        if self._now is None:
            self._now = snapshots[0].read_time
        return {snapshot.reference.path: snapshot for snapshot in snapshots}

    def _reference(self, kind: type[Document], name: str) -> firestore.DocumentReference:
        return self._client.collection(COLLECTION[kind]).document(name)


@dataclass(frozen=True)
class Committed(Generic[T]):
    """The outcome: what the body answered, and whether and when anything was written."""

    value: T
    changed: bool
    token: str
    at: datetime | None


Body = Callable[[Reader], tuple[Commit | None, T]]


class Gateway:
    """The only writer of task and job status."""

    def __init__(
        self, client: firestore.Client, policy: Policy, runtime: Runtime, *, actor: str, mission_run: str | None = None
    ) -> None:
        self._client = client
        self._policy = policy
        self._runtime = runtime
        self._actor = actor
        self._mission_run = mission_run

    def transact(self, body: Body[T]) -> Committed[T]:
        """Run `body`; write the commit it returns, if any.

        Raises:
            LawViolation: the commit would break a law; nothing was written.
            StateStoreError: nothing was written.
            UnknownOutcome: it may have been written and could not be read back.
            UnreadableRecord: a document that it needs does not validate.
        """
        token = self._runtime.new_id()

        def attempt(transaction: firestore.Transaction, number: int) -> tuple[tuple[T, bool], bool]:
            reader = Reader(self._client, transaction)
            commit, value = body(reader)
            if commit is None or commit.empty:
                return (value, False), False
            self._stage(transaction, reader, commit, token, number)
            return (value, True), True

        witness = self._client.collection(LOG).document(token)
        applied = transactions.run(self._client, attempt, witness=witness, runtime=self._runtime)
        value, changed = applied.value
        return Committed(value, changed, token, applied.commit_time)

    def _stage(
        self, transaction: firestore.Transaction, reader: Reader, commit: Commit, token: str, number: int
    ) -> None:
        laws.check_shape(commit)
        jobs = reader.jobs | {change.after.id: change.after for change in commit.jobs}
        for missing in {change.after.job_id for change in commit.tasks} - jobs.keys():
            job = reader.job(missing)
            if job is None:
                raise PipelineStateError(f"job {missing} of a task does not exist", code="no_job")
            jobs[missing] = job
        for change in commit.tasks:
            driver = driver_of_task(change.after, jobs[change.after.job_id], self._policy)
            laws.check_task(change, commit.by, driver)
            self._write(transaction, change, driver, token, reader.now)
        for job_change in commit.jobs:
            driver = driver_of_job(job_change.after, self._policy, now=reader.now, open_tasks=job_change.open_tasks)
            laws.check_job(job_change, commit.by, driver)
            self._write(transaction, job_change, driver, token, reader.now)
        for new in commit.new:
            # An outbox entry is keyed by its hour: the first of an hour stands, later ones are the same message.
            transaction.set(self._client.document(new.path), encode(new.fields), merge=True)
        transaction.create(self._client.collection(LOG).document(token), self._log(commit, reader.now, number))

    def _write(
        self,
        transaction: firestore.Transaction,
        change: TaskChange | JobChange,
        driver: DrivenBy,
        token: str,
        now: datetime,
    ) -> None:
        by, at = (driver.by, driver.at) if isinstance(driver, Driver) else (None, None)
        if change.check_at is not None and by is not None:
            at = change.check_at
        after = change.after.replace(check_by=by, check_at=at, op_token=token, updated_at=now)
        reference = self._client.collection(COLLECTION[type(after)]).document(after.id)
        if change.before is None:
            transaction.create(reference, encode(after.fields()))
        else:
            transaction.update(reference, difference(change.before, after))

    def _log(self, commit: Commit, now: datetime, number: int) -> dict[str, Any]:
        return {
            "by": str(commit.by),
            "actor": self._actor,
            "act": commit.act,
            "missionRun": self._mission_run,
            "correlationId": commit.correlation_id,
            "at": now,
            "expireAt": now + LOG_KEPT,
            "try": number,
            "changes": [_line(change) for change in _all(commit)],
        }


def _all(commit: Commit) -> list[TaskChange | JobChange]:
    return [*commit.tasks, *commit.jobs]


def _line(change: TaskChange | JobChange) -> dict[str, Any]:
    line: dict[str, Any] = {
        "path": f"{COLLECTION[type(change.after)]}/{change.after.id}",
        "before": str(change.before.status) if change.before else None,
        "after": str(change.after.status),
        "reason": change.reason,
    }
    if isinstance(change, TaskChange):
        line["attempt"] = change.after.attempt
        line["reapCount"] = change.after.reap_count
        line["failures"] = change.after.failures
        line["executions"] = change.after.executions
    return line
