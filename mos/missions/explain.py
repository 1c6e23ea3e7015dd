"""Reading one job for people: why it does not move, and everything recorded about it (§4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos import logs
from mos.clients.sqs import Queues
from mos.domain.errors import QueueError, StateStoreError, ValidationError
from mos.domain.explaining import Explanation, explain, stuck
from mos.domain.messages import ID_PATTERN
from mos.domain.model import Job, JobStatus, Task
from mos.domain.policy import Policy
from mos.missions.observing import read_all
from mos.store.config import read_production
from mos.store.documents import UnreadableRecord, read
from mos.store.queries import events_of_job, log_of_correlation, tasks_of_job

log = logs.logger(__name__)


class NoSuchJob(ValidationError):
    """There is no job of that id."""

    default_code = "no_such_job"


@dataclass(frozen=True)
class JobView:
    """A job with its tasks at one time of the store. `unreadable`: paths of tasks that do not validate."""

    job: Job
    tasks: tuple[Task, ...]
    unreadable: tuple[str, ...]
    now: datetime


def view_job(client: firestore.Client, job_id: str) -> JobView:
    """A job and its tasks; one that cannot be read hides none of the others.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
        UnreadableRecord: the job itself does not validate.
    """
    if not re.fullmatch(ID_PATTERN, job_id):
        raise NoSuchJob(f"{job_id!r} is not a job id")
    try:
        snapshot = client.collection("jobs").document(job_id).get()
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"job {job_id} cannot be read: {error}") from error
    job = read(Job, snapshot)
    if job is None:
        raise NoSuchJob(f"there is no job {job_id}; `mos submit` prints the id of a new one")
    tasks: list[Task] = []
    broken: list[str] = []
    for one in read_all(client, tasks_of_job(job_id)):
        try:
            task = read(Task, one)
        except UnreadableRecord as error:
            broken.append(error.path)
        else:
            tasks += [task] if task is not None else []
    return JobView(job, tuple(tasks), tuple(broken), snapshot.read_time)


def explain_job(client: firestore.Client, queues: Queues, policy: Policy, job_id: str) -> Explanation:
    """Why the job is not moving.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
    """
    view = view_job(client, job_id)
    return explain(
        view.job,
        view.tasks,
        now=view.now,
        policy=policy,
        paused=read_production(client).paused,
        unreadable=view.unreadable,
        depths=_depths(view, queues, policy),
    )


def _depths(view: JobView, queues: Queues, policy: Policy) -> dict[str, int]:
    """What waits where the stuck task would wait. A queue that does not answer only makes the answer vaguer."""
    task = stuck(view.tasks, view.now) if view.job.status is JobStatus.PROCESSING else None
    step = policy.pipeline.steps.get(task.step_type) if task is not None else None
    if step is None:
        return {}
    try:
        depth = queues.depth(step.queue)
    except QueueError as error:
        log.warning("explained without the queue", queue=step.queue, problem=error.message)
        return {}
    return {step.queue: depth.visible + depth.delayed}


def job_timeline(client: firestore.Client, job_id: str) -> list[dict[str, str]]:
    """One row per recorded change or error of the job and its tasks, in time order.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
    """
    view = view_job(client, job_id)
    job = view.job
    paths = {f"jobs/{job.id}", *view.unreadable, *(f"tasks/{task.id}" for task in view.tasks)}
    rows: list[dict[str, str]] = []
    for snapshot in read_all(client, log_of_correlation(job.correlation_id)):
        rows += _of_entry(snapshot.to_dict() or {}, paths)
    for snapshot in read_all(client, events_of_job(job_id)):
        rows.append(_of_event(snapshot.to_dict() or {}))
    return sorted(rows, key=lambda row: row["at"])


def _of_entry(entry: dict[str, Any], paths: set[str]) -> list[dict[str, str]]:
    shared = {"at": _time(entry.get("at")), "by": str(entry.get("by", "")), "act": str(entry.get("act", ""))}
    return [
        shared
        | {
            "subject": str(change.get("path", "")),
            "change": f"{change.get('before') or 'new'} → {change.get('after')}",
            "why": str(change.get("reason", "")),
        }
        for change in entry.get("changes", ())
        if change.get("path") in paths
    ]


def _of_event(event: dict[str, Any]) -> dict[str, str]:
    return {
        "at": _time(event.get("at")),
        "by": "worker",
        "act": "error",
        "subject": f"tasks/{event.get('taskId')}",
        "change": f"attempt {event.get('attempt')}",
        "why": f"{event.get('class')} ({event.get('code')}): {event.get('message')}",
    }


def _time(value: Any) -> str:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else ""
