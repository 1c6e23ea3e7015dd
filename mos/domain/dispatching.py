"""Dispatch's decision (§3.9): which pending jobs start, and what cancelled jobs leave to be cancelled."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.completion import enqueue
from mos.domain.model import Job, JobStatus, Task, TaskStatus
from mos.domain.transitions import By

WITHOUT_SLOT = frozenset({"voice_training"})
"""Kinds whose jobs hold no slot and are not held by `paused` (§2.5)."""


def free_slots(*, processing: int, max_concurrent_jobs: int, paused: bool) -> int:
    """How many jobs may start now. Slots are the set of processing jobs, counted afresh (race 20)."""
    return 0 if paused else max(0, max_concurrent_jobs - processing)


def decide_start(job: Job, tasks: Iterable[Task], *, now: datetime) -> Commit:
    """The commit that starts a pending job: every task whose dependencies are completed is queued.

    After a repair these need not be the roots. A job that has nothing left to do
    (its last work ended while it waited for a slot) is examined at once.
    """
    tasks = tuple(tasks)
    done = {task.id for task in tasks if task.status is TaskStatus.COMPLETED}
    ready = [
        task
        for task in tasks
        if task.status in {TaskStatus.PENDING, TaskStatus.WAITING} and done.issuperset(task.depends_on)
    ]
    started = job.replace(status=JobStatus.PROCESSING, status_changed_at=now)
    return Commit(
        by=By.DISPATCH,
        act="start_job",
        correlation_id=job.correlation_id,
        tasks=tuple(TaskChange(task, enqueue(task, now), "its job started") for task in ready),
        jobs=(JobChange(job, started, "a slot was free", check_at=None if _open(tasks) else now),),
    )


def _open(tasks: tuple[Task, ...]) -> bool:
    return any(not task.terminal for task in tasks)


def decide_cancellation(job: Job, tasks: Iterable[Task], *, look_again: datetime | None = None) -> Commit:
    """The commit that cancels what a cancelled job left open; a running task loses its lease.

    `look_again`: not all of its tasks could be read, so the job keeps its driver until then.
    """
    open_tasks = [task for task in tasks if not task.terminal]
    return Commit(
        by=By.DISPATCH,
        act="cancel_tasks",
        correlation_id=job.correlation_id,
        tasks=tuple(
            TaskChange(
                task, task.replace(status=TaskStatus.CANCELLED, lease=None, not_before=None), "its job was cancelled"
            )
            for task in open_tasks
        ),
        jobs=(JobChange(job, job, "its tasks were cancelled", check_at=look_again, open_tasks=look_again is not None),),
    )
