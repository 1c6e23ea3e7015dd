"""Jobs for scenarios: created and started as their producers do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.completion import enqueue
from mos.domain.jobs import JobRequest, decide_creation
from mos.domain.model import JobStatus, Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.store.gateway import Gateway, Reader
from mos.store.queries import tasks_of_job


def start_job(
    gateway: Gateway, policy: Policy, job_id: str, kind: str, shots: Mapping[str, Mapping[str, Any]]
) -> list[Task]:
    """A job with all its tasks, processing; its roots, queued with their messages still to be sent."""

    def create(reader: Reader) -> tuple[Commit, None]:
        reader.raw("config/production")
        request = JobRequest(job_id=job_id, kind=kind, shots=shots, correlation_id=f"cor-{job_id}")
        return decide_creation(request, now=reader.now, policy=policy), None

    def start(reader: Reader) -> tuple[Commit, list[Task]]:
        job = reader.job(job_id)
        if job is None:
            raise LookupError(job_id)
        roots = [task for task in reader.query(tasks_of_job(job_id), Task) if task.status is TaskStatus.PENDING]
        changes = tuple(TaskChange(task, enqueue(task, reader.now), "started") for task in roots)
        started = JobChange(job, job.replace(status=JobStatus.PROCESSING), "started")
        commit = Commit(by=By.DISPATCH, act="start", correlation_id=job.correlation_id, tasks=changes, jobs=(started,))
        return commit, [change.after for change in changes]

    gateway.transact(create)
    return gateway.transact(start).value
