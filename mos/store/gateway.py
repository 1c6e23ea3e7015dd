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
from mos.domain.errors import LawViolation, PipelineStateError
from mos.domain.model import Document, Job, Task, WorkerRecord
from mos.domain.policy import Policy
from mos.runtime import Runtime
from mos.store import transactions
from mos.store.documents import COLLECTION, LOG, LOG_KEPT, D, UnreadableRecord, difference, encode, path_of, read
from mos.store.queries import Query

T = TypeVar("T")
MAX_REASON = 300
"""Characters of a reason in a log line: an entry lists up to 500 of them."""


class Reader:
    """Reads inside one transaction. `now` is the read time of the first read (law 8)."""

    def __init__(self, client: firestore.Client, transaction: firestore.Transaction) -> None:
        self._client = client
        self._transaction = transaction
        self._now: datetime | None = None
        self.seen: dict[str, Document] = {}
        """What was read here, by path: the only evidence that a change may rest on."""
        self.jobs: dict[str, Job] = {}

    @property
    def now(self) -> datetime:
        """The store's clock in this transaction."""
        if self._now is None:
            raise PipelineStateError("nothing was read yet: the first read gives the time")
        return self._now

    def task(self, task_id: str) -> Task | None:
        return self.all(Task, [task_id])[0]

    def job(self, job_id: str) -> Job | None:
        return self.all(Job, [job_id])[0]

    def task_and_job(self, task_id: str, job_id: str) -> tuple[Task | None, Job | None]:
        """Both in one call."""
        references = [self._reference(Task, task_id), self._reference(Job, job_id)]
        found = self._snapshots(references)
        return self._seen(Task, found[references[0].path]), self._seen(Job, found[references[1].path])

    def worker(self, worker_id: str) -> WorkerRecord | None:
        return self.all(WorkerRecord, [worker_id])[0]

    def all(self, kind: type[D], ids: Iterable[str]) -> list[D | None]:
        """Documents by id, in the order asked for."""
        references = [self._reference(kind, name) for name in ids]
        if not references:
            return []
        found = self._snapshots(references)
        return [self._seen(kind, found[reference.path]) for reference in references]

    def query(self, query: Query, kind: type[D], *, unreadable: list[UnreadableRecord] | None = None) -> list[D]:
        """A declared query, inside the transaction.

        Documents that do not validate go to `unreadable`, where it is given, and keep nobody from the others.

        Raises:
            UnreadableRecord: a document does not validate, and the caller cannot do without it.
        """
        documents: list[D] = []
        for snapshot in query.on(self._client).stream(transaction=self._transaction):
            self._now = self._now or snapshot.read_time
            try:
                document = self._seen(kind, snapshot)
            except UnreadableRecord as error:
                if unreadable is None:
                    raise
                unreadable.append(error)
            else:
                documents += [document] if document is not None else []
        return documents

    def raw(self, path: str) -> dict[str, Any] | None:
        """Any other document (configuration)."""
        snapshot = self._snapshots([self._client.document(path)])[path]
        return snapshot.to_dict() if snapshot.exists else None

    def absent(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths where no document is."""
        references = [self._client.document(path) for path in paths]
        return (
            {path for path, found in self._snapshots(references).items() if not found.exists} if references else set()
        )

    def _seen(self, kind: type[D], snapshot: firestore.DocumentSnapshot[Any]) -> D | None:
        document = read(kind, snapshot)
        if document is not None:
            self.seen[snapshot.reference.path] = document
        if isinstance(document, Job):
            self.jobs[document.id] = document
        return document

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
        absent = reader.absent(new.path for new in commit.new)
        for change in _all(commit):
            _check_evidence(change, reader)
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
            if new.path in absent:
                transaction.create(self._client.document(new.path), encode(new.fields))
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


def _check_evidence(change: TaskChange | JobChange, reader: Reader) -> None:
    """What a change rests on was read in this very transaction (law 3).

    Raises:
        LawViolation: it was observed elsewhere, or altered since.
    """
    path = path_of(change.after)
    if change.before is not None and reader.seen.get(path) != change.before:
        raise LawViolation(f"{path}: the change rests on what was not read in its transaction", code="stale_evidence")


def _line(change: TaskChange | JobChange) -> dict[str, Any]:
    line: dict[str, Any] = {
        "path": path_of(change.after),
        "before": str(change.before.status) if change.before else None,
        "after": str(change.after.status),
        "reason": change.reason[:MAX_REASON],
    }
    line |= _of_task(change) if isinstance(change, TaskChange) else _of_job(change.after)
    return {name: value for name, value in line.items() if value is not None or name == "before"}


def _of_task(change: TaskChange) -> dict[str, Any]:
    """What the invariants need of a task: its counters, and the leases on both sides."""
    before, after = change.before, change.after
    return {
        "stepType": after.step_type,
        "attempt": after.attempt,
        "reapCount": after.reap_count,
        "failures": after.failures,
        "executions": after.executions,
        "errorClass": str(after.error.failure_class) if after.error else None,
        "leaseToken": after.lease.token if after.lease else None,
        "leaseOwnerBefore": before.lease.owner if before and before.lease else None,
        "leaseTokenBefore": before.lease.token if before and before.lease else None,
        "leaseEndedBefore": before.lease.expires_at if before and before.lease else None,
    }


def _of_job(job: Job) -> dict[str, Any]:
    return {
        "kind": job.kind,
        "retries": job.retry.attempts if job.retry else 0,
        "errorClass": str(job.error.failure_class) if job.error else None,
        "incident": str(job.production_incident.status) if job.production_incident else None,
        "incidentClass": str(job.production_incident.failure_class) if job.production_incident else None,
    }
