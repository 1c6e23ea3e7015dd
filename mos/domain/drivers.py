"""What drives each unfinished document (law 1, §1.5).

`driver_of_task` and `driver_of_job` are total: every state gets one of
`Driver` (a mission will look at it at a stated time), `ViaJob` (its job is
driven), `People` (an open incident with an owner), `Done` (nothing is left to
do), or `Undriven`, which the gateway refuses to write.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mos.domain.model import IncidentStatus, Job, JobStatus, Render, Task, TaskStatus
from mos.domain.pipeline import OWN_RECOVERY
from mos.domain.policy import Policy
from mos.domain.transitions import By

POLLS_IN_DOUBT = 2
"""A render that is missing or unanswered is polled so often before anybody submits it again."""


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
    if task.status is not TaskStatus.RUNNING and job.status is not JobStatus.PROCESSING:
        return _via(job)
    if task.status in {TaskStatus.PENDING, TaskStatus.WAITING}:
        return ViaJob(task.job_id)
    by = By.RENDER_RECOVERY if task.step_type in OWN_RECOVERY else By.REAPER
    if task.status is TaskStatus.QUEUED:
        return _queued(task, by, policy)
    if task.render_submitted:
        return _rendering(task.render or Render(), by, policy)
    ends = policy.lease_end(task)
    return Driver(by, ends + policy.timings.lease_grace) if ends else Undriven("running without a lease or startedAt")


def _via(job: Job) -> DrivenBy:
    """A completed job is never looked at again, so it drives nothing."""
    return Undriven("its job is completed") if job.status is JobStatus.COMPLETED else ViaJob(job.id)


def _queued(task: Task, by: By, policy: Policy) -> DrivenBy:
    if task.waits_since is None:
        return Undriven("queued without queuedAt")
    if task.unsent and task.queued_at is not None:
        return Driver(by, task.queued_at + policy.timings.unsent_grace)
    return Driver(by, task.waits_since + policy.pickup(task))


def _rendering(render: Render, by: By, policy: Policy) -> DrivenBy:
    submitted, timings = render.submitted_at, policy.timings
    if submitted is None:
        return Undriven("a stored uid without submittedAt")
    in_doubt = POLLS_IN_DOUBT * timings.poll_silence
    doubt = [since + in_doubt for since in (render.missing_since, render.unanswered_since) if since]
    return Driver(
        by,
        min(
            (render.last_polled_at or submitted) + timings.poll_silence,
            max([submitted + timings.resubmit_window, *doubt]),
            (render.last_change_at or submitted) + timings.render_unchanged,
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
            return _failed(job, now, policy)


def _failed(job: Job, now: datetime, policy: Policy) -> DrivenBy:
    incident = job.production_incident
    if incident is None or incident.status in {IncidentStatus.RETRYING, IncidentStatus.RESOLVED}:
        return Driver(By.PRODUCTION_RETRY, now)
    if incident.status is IncidentStatus.RETRY_PENDING:
        last = incident.last_attempt_at or (job.retry.last_attempt_at if job.retry else None)
        return Driver(By.PRODUCTION_RETRY, last + policy.timings.cool_down if last else now)
    return People(f"incident {incident.status}: {incident.reason or incident.failure_class}")
