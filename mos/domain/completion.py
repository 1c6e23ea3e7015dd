"""What completing a task changes (§2.1 rule 6): task, shot, successors and job, in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.model import (
    IncidentStatus,
    Job,
    JobStatus,
    Send,
    SendState,
    Shot,
    ShotStatus,
    Task,
    TaskStatus,
)
from mos.domain.transitions import By


@dataclass(frozen=True)
class Completed:
    """The work counts. `queued` are the successors whose messages are to be sent after the commit."""

    commit: Commit
    queued: tuple[Task, ...]


@dataclass(frozen=True)
class Fenced:
    """The work is not ours any more: discard it and delete nothing."""

    reason: str


def fence(task: Task | None, *, token: str, attempt: int) -> str | None:
    """Why a holder of `token` may not change `task` any more; None when it may (law 3)."""
    if task is None:
        return "the task is gone"
    if task.status is not TaskStatus.RUNNING:
        return f"the task is {task.status}"
    if task.attempt != attempt:
        return f"attempt {attempt} was superseded by {task.attempt}"
    if task.lease is None or task.lease.token != token:
        return "the lease belongs to somebody else"
    return None


def decide_completion(
    task: Task,
    job: Job,
    *,
    output_key: str | None,
    successors: Iterable[Task],
    dependencies: Mapping[str, TaskStatus],
    other_open_tasks: bool,
    now: datetime,
) -> Completed:
    """The commit that completes `task`, which passed its fence.

    `dependencies` gives the status of every task that a successor depends on;
    `other_open_tasks` whether the job has open tasks besides this one and its
    successors. Under a job that is not processing the completion is recorded
    and queues nothing.
    """
    done = task.replace(
        status=TaskStatus.COMPLETED,
        output_key=output_key,
        completed_at=now,
        last_progress_at=now,
        lease=None,
        error=None,
    )
    changes = [TaskChange(task, done, "completed")]
    successors = tuple(successors)
    queued: tuple[Task, ...] = ()
    if job.status is JobStatus.PROCESSING:
        ready = [s for s in successors if s.status is TaskStatus.WAITING and _satisfied(s, task.id, dependencies)]
        changes += [TaskChange(s, enqueue(s, now), f"{task.id} completed") for s in ready]
        queued = tuple(change.after for change in changes[1:])
    still_open = other_open_tasks or any(not successor.terminal for successor in successors)
    after = _job_after(job, done, successors, now, finished=not still_open)
    jobs = (JobChange(job, after, f"{task.id} completed"),) if after != job else ()
    commit = Commit(by=By.WORKER, act="complete", correlation_id=task.correlation_id, tasks=tuple(changes), jobs=jobs)
    return Completed(commit, queued)


def enqueue(task: Task, now: datetime) -> Task:
    """The task, queued with its message still to be sent (law 4)."""
    return task.replace(
        status=TaskStatus.QUEUED, queued_at=now, send=Send(state=SendState.UNSENT, at=now), not_before=None, resends=0
    )


def _satisfied(successor: Task, completed: str, dependencies: Mapping[str, TaskStatus]) -> bool:
    return all(name == completed or dependencies.get(name) is TaskStatus.COMPLETED for name in successor.depends_on)


def _job_after(job: Job, done: Task, successors: tuple[Task, ...], now: datetime, *, finished: bool) -> Job:
    shots = dict(job.shots)
    settles = done.shot_id is not None and all(s.shot_id != done.shot_id for s in successors)
    if settles and done.shot_id is not None:
        before = shots.get(done.shot_id, Shot())
        shots[done.shot_id] = before.model_copy(update={"status": ShotStatus.COMPLETED, "output_key": done.output_key})
    changed: dict[str, object] = {"shots": shots} if settles else {}
    if finished and job.status is JobStatus.PROCESSING:
        changed |= {"status": JobStatus.COMPLETED, "status_changed_at": now}
        if job.production_incident is not None and job.production_incident.status is not IncidentStatus.RESOLVED:
            changed["production_incident"] = job.production_incident.model_copy(
                update={"status": IncidentStatus.RESOLVED}
            )
    return job.replace(**changed) if changed else job
