"""What a failed execution does to its task (§2.1 rule 8): once more after a delay, or the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mos.domain import budgets
from mos.domain.backoff import retry_delay
from mos.domain.changes import Commit, TaskChange
from mos.domain.ending import decide_end, task_error
from mos.domain.errors import FailureClass
from mos.domain.model import Job, JobStatus, Send, SendState, Task, TaskError, TaskStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By

RETRIED_BY_WORKER = frozenset(
    {
        FailureClass.INFRASTRUCTURE,
        FailureClass.TEMPLATE_TRANSFER,
        FailureClass.PROVIDER_TIMEOUT,
        FailureClass.STRANDED_PIPELINE,
        FailureClass.UNKNOWN,
    }
)
"""`unknown` is retried here, and only here: within the three failures of one task."""


@dataclass(frozen=True)
class Failure:
    """What went wrong in one execution."""

    failure_class: FailureClass
    code: str
    message: str


@dataclass(frozen=True)
class RetryLater:
    """Queued again behind a delay: hide the message for as long, do not delete it.

    `fresh_message`: the old one is at its last permitted receive, so the outbox
    says `unsent` and a new message of the same attempt replaces it.
    """

    commit: Commit
    delay: timedelta
    fresh_message: bool


@dataclass(frozen=True)
class FailedForGood:
    """Committed as failed: acknowledge the message."""

    commit: Commit


@dataclass(frozen=True)
class WaitsForJob:
    """The job is not processing any more: the task waits for it, the message is stale."""

    commit: Commit


FailureDecision = RetryLater | FailedForGood | WaitsForJob


def decide_failure(
    task: Task,
    job: Job,
    failure: Failure,
    *,
    queued_siblings: Iterable[Task],
    dependants: Iterable[Task],
    receive_count: int,
    jitter: timedelta,
    now: datetime,
    policy: Policy,
) -> FailureDecision:
    """The commit for a failure of `task`, which passed its fence."""
    error = task_error(task, failure_class=failure.failure_class, code=failure.code, message=failure.message, now=now)
    again = failure.failure_class in RETRIED_BY_WORKER and not budgets.last_permitted_failure(task, policy)
    if again and job.status is JobStatus.PROCESSING:
        delay = retry_delay(receive_count, policy.timings) + jitter
        fresh = receive_count >= policy.step(task).max_receives
        return RetryLater(_again(task, error, now, now + delay, fresh=fresh), delay, fresh)
    if again:
        return WaitsForJob(leave_running(task, by=By.WORKER, act="fail", reason="the job stopped", error=error))
    return FailedForGood(
        decide_end(
            task,
            job,
            status=TaskStatus.FAILED,
            error=error,
            by=By.WORKER,
            act="fail",
            queued_siblings=queued_siblings,
            dependants=dependants,
            now=now,
            failures=task.failures + 1,
        )
    )


def _again(task: Task, error: TaskError, now: datetime, not_before: datetime, *, fresh: bool) -> Commit:
    state = SendState.UNSENT if fresh else SendState.SENT
    after = task.replace(
        status=TaskStatus.QUEUED,
        lease=None,
        error=error,
        failures=task.failures + 1,
        not_before=not_before,
        queued_at=now,
        send=Send(state=state, at=now, message_id=None if fresh else task.send.message_id),
    )
    reason = f"failure {after.failures}: {error.failure_class} ({error.code})"
    return Commit(
        by=By.WORKER, act="retry", correlation_id=task.correlation_id, tasks=(TaskChange(task, after, reason),)
    )


def leave_running(task: Task, *, by: By, act: str, reason: str, error: TaskError | None = None) -> Commit:
    """A task that leaves `running` unfinished under a job that is not processing (§1.5).

    It becomes `pending` with a new attempt and nothing is sent: its job drives it.
    """
    after = task.replace(
        status=TaskStatus.PENDING,
        lease=None,
        attempt=task.attempt + 1,
        error=error or task.error,
        failures=task.failures + (error is not None),
        not_before=None,
        queued_at=None,
        resends=0,
    )
    return Commit(by=by, act=act, correlation_id=task.correlation_id, tasks=(TaskChange(task, after, reason),))
