"""May this worker run this message? The claim table of §2.1 rule 3, first row that fits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from mos.domain import budgets
from mos.domain.backoff import retry_delay
from mos.domain.changes import Commit, TaskChange
from mos.domain.ending import task_error
from mos.domain.errors import FailureClass
from mos.domain.messages import TaskMessage
from mos.domain.model import Job, JobStatus, Lease, Send, SendState, Task, TaskError, TaskStatus
from mos.domain.policy import MAX_EXECUTIONS, MAX_REAPS, Policy
from mos.domain.transitions import By


class OwnerState(StrEnum):
    """What is known of the process that holds a lease."""

    UNKNOWN = "unknown"
    STOPPED = "stopped"
    """It wrote `stoppedAt`, or its ECS task is known to have stopped: an announced loss (law 9)."""


@dataclass(frozen=True)
class Claimed:
    """Run it. `task` is the state as this commit leaves it."""

    commit: Commit
    task: Task
    took_over: bool


@dataclass(frozen=True)
class Drop:
    """The message is stale: delete it and count it."""

    reason: str


@dataclass(frozen=True)
class Poison:
    """The message fits no state: leave it, the queue's redrive policy takes it."""

    reason: str
    field: str


@dataclass(frozen=True)
class Later:
    """Not now: hide the message for `delay`. `duplicate` when a live lease holds the task."""

    reason: str
    delay: timedelta
    duplicate: bool = False


@dataclass(frozen=True)
class Spent:
    """A joint budget is used up: end the task as `status` with `error`, then delete the message."""

    status: TaskStatus
    error: TaskError
    needs_person: bool


ClaimDecision = Claimed | Drop | Poison | Later | Spent


@dataclass(frozen=True, kw_only=True)
class Claimant:
    """Who claims: the boot id of the process and a fresh lease token.

    `correlation_id` is the message's; a task that has none keeps it (§1.7).
    """

    owner: str
    token: str
    correlation_id: str = ""


def decide_claim(
    message: TaskMessage,
    task: Task | None,
    job: Job | None,
    *,
    owner_state: OwnerState,
    claimant: Claimant,
    receive_count: int,
    now: datetime,
    policy: Policy,
) -> ClaimDecision:
    """First row of the table that fits."""
    if task is None:
        return Poison(f"no task {message.task_id}", "taskId")
    refusal = _refuse(message, task, job, receive_count, policy)
    if refusal is not None:
        return refusal
    if task.status is TaskStatus.QUEUED:
        if task.not_before is not None and task.not_before > now:
            # At the last permitted receive the worker replaces the message by a fresh one, delayed as long.
            return Later("not before its back-off ends", task.not_before - now)
        return _start(task, claimant, now, policy, counted=False)
    if task.lease is None and task.render_submitted:
        return _start(task, claimant, now, policy, counted=False)
    ends = lease_end(task, policy)
    stopped = owner_state is OwnerState.STOPPED
    if ends > now and not stopped:
        if receive_count >= policy.step(task).max_receives:
            return Drop("a duplicate at the last permitted receive; the task has its driver")
        return Later("another worker holds the lease", ends - now, duplicate=True)
    return _start(task, claimant, now, policy, counted=not stopped)


def _refuse(
    message: TaskMessage, task: Task, job: Job | None, receive_count: int, policy: Policy
) -> ClaimDecision | None:
    """Everything that keeps the task from being run at all."""
    if task.job_id != message.job_id:
        return Poison(f"task {task.id} belongs to job {task.job_id}", "jobId")
    if task.step_type != message.step_type:
        return Poison(f"task {task.id} is a {task.step_type}", "stepType")
    if message.attempt > task.attempt:
        return Poison(f"attempt {message.attempt} is newer than the task's {task.attempt}", "attempt")
    stale = _stale(message, task, job)
    if stale is not None:
        return Drop(stale)
    if job is None:
        return Poison(f"no job {task.job_id}", "jobId")
    if task.status in {TaskStatus.PENDING, TaskStatus.WAITING}:
        if receive_count >= policy.step(task).max_receives:
            return Drop(f"out of order at the last permitted receive; the {task.status} task is driven by its job")
        return Later(f"out of order: the task is {task.status}", retry_delay(receive_count, policy.timings))
    return None


def _stale(message: TaskMessage, task: Task, job: Job | None) -> str | None:
    if task.terminal:
        return f"the task is {task.status}"
    if message.attempt < task.attempt:
        return f"attempt {message.attempt} was superseded by {task.attempt}"
    if job is not None and job.status in {JobStatus.FAILED, JobStatus.CANCELLED}:
        return f"the job is {job.status}"
    return None


def lease_end(task: Task, policy: Policy) -> datetime:
    """When the right to work on a running task ends: long ago where nothing tells."""
    return policy.lease_end(task) or datetime.min.replace(tzinfo=UTC)


def _start(task: Task, claimant: Claimant, now: datetime, policy: Policy, *, counted: bool) -> ClaimDecision:
    if not budgets.may_execute(task):
        return _spent_executions(task, now)
    if counted and not budgets.may_reap(task):
        return _spent_reaps(task, now)
    took_over = task.status is TaskStatus.RUNNING
    started = task.replace(
        status=TaskStatus.RUNNING,
        lease=Lease(
            owner=claimant.owner,
            token=claimant.token,
            renewed_at=now,
            expires_at=now + policy.lease(policy.step(task)),
        ),
        started_at=now,
        last_progress_at=now,
        executions=task.executions + 1,
        reap_count=task.reap_count + counted,
        send=Send(state=SendState.SENT, at=task.send.at or now, message_id=task.send.message_id),
        not_before=None,
        resends=0,
        correlation_id=task.correlation_id or claimant.correlation_id,
    )
    reason = "took over an ended lease" if took_over else "claimed"
    commit = Commit(
        by=By.WORKER,
        act="take_over" if took_over else "claim",
        correlation_id=started.correlation_id,
        tasks=(TaskChange(task, started, reason),),
    )
    return Claimed(commit, started, took_over)


def _spent_executions(task: Task, now: datetime) -> Spent:
    error = task_error(
        task,
        failure_class=budgets.class_when_spent(task.error),
        code="executions_spent",
        message=f"{MAX_EXECUTIONS} executions did not finish {task.step_type}"
        + (f"; the last error was: {task.error.message}" if task.error else ""),
        now=now,
    )
    return Spent(TaskStatus.DEAD, error, needs_person=True)


def _spent_reaps(task: Task, now: datetime) -> Spent:
    error = task_error(
        task,
        failure_class=FailureClass.STRANDED_PIPELINE,
        code="reaps_spent",
        message=f"{task.step_type} lost its worker {MAX_REAPS} times and once more",
        now=now,
    )
    return Spent(TaskStatus.FAILED, error, needs_person=False)
