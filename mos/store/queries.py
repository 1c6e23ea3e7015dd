"""Every query that a mission or worker makes, declared once, with the composite index it needs (§1.4).

`firestore.indexes.json` is generated from this file (`mos indexes`); a test
fails when they differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.domain.model import OPEN_TASKS, JobStatus, TaskStatus
from mos.domain.transitions import By

Order = tuple[str, str]


@dataclass(frozen=True)
class Query:
    """One bound query: filters, order and limit."""

    name: str
    collection: str
    filters: tuple[tuple[str, str, Any], ...]
    order: tuple[Order, ...] = ()
    limit: int | None = None

    def on(self, client: firestore.Client) -> firestore.Query:
        """The query for the stock client."""
        query = firestore.Query(client.collection(self.collection))
        for path, operator, value in self.filters:
            query = query.where(filter=FieldFilter(path, operator, value))
        for path, direction in self.order:
            query = query.order_by(path, direction=direction)
        return query.limit(self.limit) if self.limit is not None else query


ASC = firestore.Query.ASCENDING
DESC = firestore.Query.DESCENDING


def tasks_due(by: By, status: TaskStatus, now: datetime, limit: int) -> Query:
    """The driver query of §1.5: an empty answer costs one read however much is in flight."""
    return Query(
        "tasks_due",
        "tasks",
        (("checkBy", "==", str(by)), ("status", "==", str(status)), ("checkAt", "<=", now)),
        (("checkAt", ASC),),
        limit,
    )


def jobs_due(by: By, status: JobStatus, now: datetime, limit: int) -> Query:
    """The driver query for jobs."""
    return Query(
        "jobs_due",
        "jobs",
        (("checkBy", "==", str(by)), ("status", "==", str(status)), ("checkAt", "<=", now)),
        (("checkAt", ASC),),
        limit,
    )


def lately_claimed(step: str, limit: int = 20) -> Query:
    """The tasks of a step that were claimed last (for lost-or-late)."""
    return Query("lately_claimed", "tasks", (("stepType", "==", step),), (("startedAt", DESC),), limit)


def pending_jobs(limit: int) -> Query:
    """Jobs that wait to be started, oldest first."""
    return Query("pending_jobs", "jobs", (("status", "==", str(JobStatus.PENDING)),), (("createdAt", ASC),), limit)


def pending_jobs_of(kinds: Iterable[str], limit: int) -> Query:
    """Those of some kinds, oldest first."""
    filters = (("status", "==", str(JobStatus.PENDING)), ("kind", "in", sorted(kinds)))
    return Query("pending_jobs_of", "jobs", filters, (("createdAt", ASC),), limit)


def processing_jobs() -> Query:
    """Every job that is under way: who asks leaves out the kinds that hold no slot, and no unknown one."""
    return Query("processing_jobs", "jobs", (("status", "==", str(JobStatus.PROCESSING)),))


def tasks_of_job(job_id: str) -> Query:
    """All tasks of a job (at most 500)."""
    return Query("tasks_of_job", "tasks", (("jobId", "==", job_id),))


def queued_of_job(job_id: str) -> Query:
    """The queued tasks of a job."""
    return Query("queued_of_job", "tasks", (("jobId", "==", job_id), ("status", "==", str(TaskStatus.QUEUED))))


def open_of_job(job_id: str, limit: int = 2) -> Query:
    """Whether a job has open tasks: two are enough to know about others than one's own."""
    statuses = sorted(str(status) for status in OPEN_TASKS)
    return Query("open_of_job", "tasks", (("jobId", "==", job_id), ("status", "in", statuses)), limit=limit)


def open_findings(seen_by: str, limit: int = 300) -> Query:
    """What a pass has open."""
    return Query("open_findings", "findings", (("seenBy", "==", seen_by), ("open", "==", True)), limit=limit)


def unsent_notifications(now: datetime, limit: int = 50) -> Query:
    """The outbox of §1.6, oldest first."""
    return Query(
        "unsent_notifications",
        "notifications",
        (("send.state", "==", "unsent"), ("createdAt", "<=", now)),
        (("createdAt", ASC),),
        limit,
    )


def log_of_correlation(correlation_id: str, limit: int = 5_000) -> Query:
    """The log entries of one job, in time order."""
    return Query("log_of_correlation", "recoveryLog", (("correlationId", "==", correlation_id),), (("at", ASC),), limit)


def events_of_job(job_id: str, limit: int = 1_000) -> Query:
    """The error events of one job."""
    return Query("events_of_job", "jobErrorEvents", (("jobId", "==", job_id),), limit=limit)


def workers_seen_since(since: datetime) -> Query:
    """Whether any worker reported lately."""
    return Query("workers_seen_since", "workers", (("heartbeatAt", ">=", since),), limit=1)


_SAMPLE = datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def declared() -> tuple[Query, ...]:
    """One sample of each query, to derive the indexes from."""
    return (
        tasks_due(By.REAPER, TaskStatus.RUNNING, _SAMPLE, 1),
        jobs_due(By.DISPATCH, JobStatus.CANCELLED, _SAMPLE, 1),
        lately_claimed("step"),
        pending_jobs(1),
        pending_jobs_of(["kind"], 1),
        processing_jobs(),
        tasks_of_job("job"),
        queued_of_job("job"),
        open_of_job("job"),
        open_findings("mission"),
        unsent_notifications(_SAMPLE),
        workers_seen_since(_SAMPLE),
        log_of_correlation("correlation"),
        events_of_job("job"),
    )
