"""Reading one job for people: why it does not move, and everything recorded about it (§4.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError, ValidationError
from mos.domain.explaining import Explanation, explain
from mos.domain.model import Job, Task
from mos.domain.policy import Policy
from mos.missions.observing import read_all
from mos.store.documents import read
from mos.store.queries import events_of_job, log_of_correlation, tasks_of_job


class NoSuchJob(ValidationError):
    """There is no job of that id."""

    default_code = "no_such_job"


def job_and_tasks(client: firestore.Client, job_id: str) -> tuple[Job, list[Task], datetime]:
    """A job, its tasks, and the store's time of the read.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
        UnreadableRecord: a document does not validate.
    """
    if not job_id or "/" in job_id:
        raise NoSuchJob(f"{job_id!r} is not a job id")
    try:
        snapshot = client.collection("jobs").document(job_id).get()
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"job {job_id} cannot be read: {error}") from error
    job = read(Job, snapshot)
    if job is None:
        raise NoSuchJob(f"there is no job {job_id}; `mos submit` prints the id of a new one")
    tasks = [read(Task, one) for one in read_all(client, tasks_of_job(job_id))]
    return job, [task for task in tasks if task is not None], snapshot.read_time


def explain_job(client: firestore.Client, policy: Policy, job_id: str) -> Explanation:
    """Why the job is not moving.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
    """
    job, tasks, now = job_and_tasks(client, job_id)
    return explain(job, tasks, now=now, policy=policy)


def job_timeline(client: firestore.Client, job_id: str) -> list[dict[str, str]]:
    """One row per recorded change or error of the job and its tasks, in time order.

    Raises:
        NoSuchJob: there is none.
        StateStoreError: the store could not be asked.
    """
    job, tasks, _ = job_and_tasks(client, job_id)
    paths = {f"jobs/{job.id}", *(f"tasks/{task.id}" for task in tasks)}
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
