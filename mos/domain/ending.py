"""How a task ends badly: one commit for the task, its shot, its siblings and its job (law 2).

`cascade_shot_failure` (the task feeds one shot) and `cascade_input_chain_failure`
(it feeds several) differ only in which shots fail. Queued siblings go back to
`pending` with a new attempt, so that the messages still under way are stale;
running siblings go on, driven by their lease, and queue no successor.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mos.domain.changes import Commit, JobChange, NewDocument, TaskChange
from mos.domain.errors import FailureClass
from mos.domain.model import (
    TERMINAL_JOBS,
    Incident,
    IncidentStatus,
    Job,
    JobStatus,
    SendState,
    ShotStatus,
    Task,
    TaskError,
    TaskStatus,
)
from mos.domain.text import clean
from mos.domain.transitions import By

MAX_CODE = 100
"""Characters of an error's code."""


def task_error(task: Task, *, failure_class: FailureClass, code: str, message: str, now: datetime) -> TaskError:
    """The error as it stands in task and job, with the attempt it belongs to (race 24)."""
    return TaskError(
        failure_class=failure_class,
        code=clean(code, MAX_CODE),
        message=clean(message),
        at=now,
        attempt=task.attempt,
        step=task.step_type,
        task_id=task.id,
    )


def back_to_pending(task: Task, reason: str) -> TaskChange:
    """A queued task of a job that no longer proceeds: the next attempt waits for its job (§1.5)."""
    after = task.replace(
        status=TaskStatus.PENDING, attempt=task.attempt + 1, lease=None, not_before=None, resends=0, queued_at=None
    )
    return TaskChange(task, after, reason)


def fed_shots(task: Task, dependants: Iterable[Task]) -> frozenset[str]:
    """The shots that need this task's output: its own, or those of the tasks after it."""
    if task.shot_id is not None:
        return frozenset({task.shot_id})
    return frozenset(other.shot_id for other in dependants if other.shot_id is not None)


def decide_end(
    task: Task,
    job: Job,
    *,
    status: TaskStatus,
    error: TaskError,
    by: By,
    act: str,
    queued_siblings: Iterable[Task],
    dependants: Iterable[Task],
    now: datetime,
    needs_person: bool = False,
    **fields: object,
) -> Commit:
    """End `task` as failed or dead and take everything else with it.

    `needs_person` opens the incident at once as `operator_required`; otherwise
    production-retry is the failed job's driver and classifies it. A pending job
    fails too: a retry kept this task running, and nothing would repair it later.
    A job that has ended is left as it is.
    """
    reason = f"{task.step_type} {status}: {error.failure_class} ({error.code})"
    ended = task.replace(status=status, error=error, lease=None, not_before=None, **fields)
    changes = [TaskChange(task, ended, reason)]
    if job.status in TERMINAL_JOBS:
        return Commit(by=by, act=act, correlation_id=task.correlation_id, tasks=tuple(changes))
    changes += [back_to_pending(other, reason) for other in queued_siblings if other.id != task.id]
    return Commit(
        by=by,
        act=act,
        correlation_id=task.correlation_id,
        tasks=tuple(changes),
        jobs=(JobChange(job, _failed_job(job, error, fed_shots(task, dependants), now, needs_person), reason),),
        new=(notification(job, error, now),),
    )


def _failed_job(job: Job, error: TaskError, shots: frozenset[str], now: datetime, needs_person: bool) -> Job:  # noqa: FBT001
    failed = {
        name: shot.model_copy(update={"status": ShotStatus.FAILED}) if name in shots else shot
        for name, shot in job.shots.items()
    }
    incident = job.production_incident
    if needs_person:
        incident = Incident(
            failure_class=error.failure_class,
            status=IncidentStatus.OPERATOR_REQUIRED,
            attempt_count=job.retry.attempts if job.retry else 0,
            detected_at=now,
            reason=error.message,
            correlation_id=job.correlation_id,
        )
    return job.replace(
        status=JobStatus.FAILED, shots=failed, error=error, production_incident=incident, status_changed_at=now
    )


def notification(job: Job, error: TaskError, now: datetime) -> NewDocument:
    """The outbox entry that tells people, once an hour for each (job, class, code) (§1.6)."""
    hour = f"{now:%Y%m%dT%H}"
    # The code may be a stranger's word: a slash would make another path of it.
    key = f"{job.id}:{error.failure_class}:{clean(error.code, MAX_CODE).replace('/', '~')}:{hour}"
    severity = "warning" if error.failure_class.retryable else "critical"
    return NewDocument(
        f"notifications/{key}",
        {
            "jobId": job.id,
            "class": str(error.failure_class),
            "code": error.code,
            "message": error.message,
            "severity": severity,
            "correlationId": job.correlation_id,
            "send": {"state": str(SendState.UNSENT), "at": now},
            "createdAt": now,
        },
    )
