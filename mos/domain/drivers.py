"""What drives each unfinished document (law 1, §1.5).

`driver_of_task` and `driver_of_job` are total: every state gets one of
`Driver` (a mission will look at it at a stated time), `ViaJob` (its job is
driven), `People` (an open incident with an owner), `Done` (nothing is left to
do), or `Undriven`, which the gateway refuses to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from mos.domain.model import IncidentStatus, Job, JobStatus, Render, SendState, Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By

RENDER_STEPS = frozenset({"render", "deliver"})
POLL_SILENCE = timedelta(minutes=3)
RESUBMIT_WINDOW = timedelta(minutes=20)
RENDER_UNCHANGED = timedelta(minutes=60)


@dataclass(frozen=True)
class Driver:
    """The mission `by` looks at the document at `at`."""

    by: By
    at: datetime


@dataclass(frozen=True)
class ViaJob:
    """The document is driven by its job."""

    job_id: str


@dataclass(frozen=True)
class People:
    """An open incident: a person owns it."""

    reason: str


@dataclass(frozen=True)
class Done:
    """Finished for good."""


@dataclass(frozen=True)
class Undriven:
    """Nobody would ever look at it again: law 1 is broken."""

    reason: str


DrivenBy = Driver | ViaJob | People | Done | Undriven


def driver_of_task(task: Task, job: Job, policy: Policy) -> DrivenBy:
    """First row of §1.5 that fits."""
    if task.terminal:
        return Done()
    if task.status in {TaskStatus.PENDING, TaskStatus.WAITING}:
        return ViaJob(task.job_id)
    if task.status is TaskStatus.QUEUED and job.status is not JobStatus.PROCESSING:
        return ViaJob(task.job_id)
    by = By.RENDER_RECOVERY if task.step_type in RENDER_STEPS else By.REAPER
    if task.status is TaskStatus.QUEUED:
        return _queued(task, by, policy)
    if task.step_type == "render" and task.render is not None and task.render.uid is not None:
        return _rendering(task.render, by)
    if task.lease is None:
        return Undriven("running without a lease")
    return Driver(by, task.lease.expires_at + policy.timings.lease_grace)


def _queued(task: Task, by: By, policy: Policy) -> DrivenBy:
    if task.queued_at is None:
        return Undriven("queued without queuedAt")
    if task.send.state is SendState.UNSENT:
        return Driver(by, task.queued_at + policy.timings.unsent_grace)
    since = max(task.queued_at, task.not_before or task.queued_at)
    return Driver(by, since + policy.step(task).pickup_ttl)


def _rendering(render: Render, by: By) -> DrivenBy:
    submitted = render.submitted_at
    if submitted is None:
        return Undriven("a stored uid without submittedAt")
    doubt = [since + 2 * POLL_SILENCE for since in (render.missing_since, render.unanswered_since) if since]
    return Driver(
        by,
        min(
            (render.last_polled_at or submitted) + POLL_SILENCE,
            max([submitted + RESUBMIT_WINDOW, *doubt]),
            (render.last_change_at or submitted) + RENDER_UNCHANGED,
        ),
    )


def driver_of_job(
    job: Job, policy: Policy, *, now: datetime, progress: datetime | None = None, open_tasks: bool = True
) -> DrivenBy:
    """First row of §1.5 that fits.

    `progress` is the last known progress of a processing job; `open_tasks` says
    whether a cancelled job still has tasks that are not terminal.
    """
    match job.status:
        case JobStatus.COMPLETED:
            return Done()
        case JobStatus.CANCELLED:
            return Driver(By.DISPATCH, now) if open_tasks else Done()
        case JobStatus.PENDING:
            return Driver(By.DISPATCH, now)
        case JobStatus.PROCESSING:
            if job.settled and job.needs_ae_rerender:
                return Driver(By.RENDER_RECOVERY, now)
            return Driver(By.STALLED_JOBS, (progress or now) + policy.timings.stalled_after)
        case JobStatus.FAILED:
            return _failed(job, now)


def _failed(job: Job, now: datetime) -> DrivenBy:
    incident = job.production_incident
    if incident is None or incident.status in {IncidentStatus.RETRYING, IncidentStatus.RESOLVED}:
        return Driver(By.PRODUCTION_RETRY, now)
    if incident.status is IncidentStatus.RETRY_PENDING:
        return Driver(By.PRODUCTION_RETRY, (incident.last_attempt_at or now) + COOL_DOWN)
    return People(f"incident {incident.status}: {incident.reason or incident.failure_class}")


COOL_DOWN = timedelta(minutes=5)
