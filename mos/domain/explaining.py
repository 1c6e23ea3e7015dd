"""Why is this job not moving (§4.1 `why`)? From its state alone: the item, its owner, what happens and when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from mos.domain.dispatching import WITHOUT_SLOT
from mos.domain.drivers import Done, Driver, People, Undriven, ViaJob, driver_of_job, driver_of_task
from mos.domain.model import Job, JobStatus, Task, TaskStatus
from mos.domain.policy import Policy

RUNGS = {
    1: "graceful shutdown: seconds, invisible",
    2: "a worker was killed: its message comes back when its lease has ended",
    3: "a lost message: the reaper, at most three times",
    4: "a transient failure: a classified retry",
    5: "a failure that a person must look at",
    6: "an unrecoverable stall",
}
"""The ladder of §1.1: a failure climbs exactly as far as it needs to."""


@dataclass(frozen=True)
class Explanation:
    """One answer for a person. `item` is the thing that holds the job up; `owner` who will act on it, and `when`."""

    job: str
    status: str
    item: str
    state: str
    owner: str
    what: str
    when: str
    rung: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """A few lines for a terminal."""
        lines = [f"{self.job} is {self.status}", f"  held up by  {self.item}: {self.state}"]
        lines += [f"  owned by    {self.owner}", f"  what next   {self.what}", f"  when        {self.when}"]
        if self.rung is not None:
            lines.append(f"  rung        {self.rung} – {RUNGS[self.rung]}")
        return "\n".join(lines)


def explain(
    job: Job,
    tasks: Iterable[Task],
    *,
    now: datetime,
    policy: Policy,
    paused: bool = False,
    unreadable: Sequence[str] = (),
) -> Explanation:
    """The first answer that fits: the job's own state, else its oldest open task.

    `unreadable` are paths of its tasks that do not validate: while nothing else moves, they hold it up.
    """
    match job.status:
        case JobStatus.COMPLETED:
            return _of_job(job, "nothing", "all its tasks are completed", "nobody", "nothing is left to do", "–")
        case JobStatus.PENDING if unreadable:
            return _broken(job, unreadable)
        case JobStatus.PENDING:
            return _pending(job, paused=paused)
        case JobStatus.CANCELLED | JobStatus.FAILED:
            return _ended(job, now, policy)
        case JobStatus.PROCESSING:
            return _processing(job, list(tasks), now, policy, unreadable)


def _pending(job: Job, *, paused: bool) -> Explanation:
    if paused and job.kind not in WITHOUT_SLOT:
        state, what, when = "production is paused", "it starts when config/production says so", "when somebody resumes"
        return _of_job(job, "the job", state, "a person", what, when)
    return _of_job(job, "the job", "it waits for a free slot", "dispatch", "it starts, oldest first", "next tick")


def _broken(job: Job, unreadable: Sequence[str]) -> Explanation:
    state = f"{len(unreadable)} of its documents cannot be read"
    what = "mend the document; the finding UNREADABLE_RECORD says what is wrong"
    return _of_job(job, unreadable[0], state, "a person", what, "when somebody acts", 5)


def _ended(job: Job, now: datetime, policy: Policy) -> Explanation:
    state = f"{job.error.failure_class} in {job.error.step}: {job.error.message}" if job.error else str(job.status)
    item = job.error.task_id if job.error and job.error.task_id else "the job"
    driver = driver_of_job(job, policy, now=now)
    if isinstance(driver, Driver):
        return _of_job(
            job, item, state, driver.by, "it is classified and retried, or handed over", _when(driver.at, now), 4
        )
    if isinstance(driver, People):
        return _of_job(job, item, state, "a person", driver.reason, "when somebody acts", 5)
    return _of_job(job, item, state, "nobody", "nothing is left to do", "–")


def _processing(job: Job, tasks: list[Task], now: datetime, policy: Policy, unreadable: Sequence[str]) -> Explanation:
    active = [task for task in tasks if task.status in {TaskStatus.RUNNING, TaskStatus.QUEUED}]
    if not active and unreadable:
        return _broken(job, unreadable)
    if not active:
        waiting = sum(not task.terminal for task in tasks)
        driver = driver_of_job(job, policy, now=job.check_at or now)
        at = job.check_at or (driver.at if isinstance(driver, Driver) else now)
        state = f"nothing runs or waits in a queue; {waiting} of {len(tasks)} tasks are open"
        return _of_job(
            job, "the job", state, "stalled-jobs", "it is reconciled, or failed with its shape", _when(at, now), 6
        )
    overdue = [task for task in active if task.check_at is not None and task.check_at <= now]
    task = min(overdue or active, key=lambda one: (one.check_at or now, one.id))
    return _of_task(job, task, now, policy)


def _of_task(job: Job, task: Task, now: datetime, policy: Policy) -> Explanation:
    driver = driver_of_task(task, job, policy)
    match driver:
        case Driver(by, at):
            owner, when = str(by), _when(task.check_at or at, now)
        case ViaJob() | Done():
            owner, when = "its job", "with its job"
        case People(reason):
            owner, when = f"a person: {reason}", "when somebody acts"
        case Undriven(reason):
            owner, when = "NOBODY", f"never: {reason}"
    state, what, rung = _state(task, now)
    return _of_job(job, task.id, state, owner, what, when, rung)


def _state(task: Task, now: datetime) -> tuple[str, str, int | None]:
    if task.status is TaskStatus.QUEUED:
        since = _ago(task.queued_at, now)
        if task.unsent:
            return f"queued {since}, its message not sent yet", "the message is sent", 3
        if task.not_before is not None and task.not_before > now:
            error = task.error.message if task.error else "a failure"
            return (
                f"waits after failure {task.failures}: {error}",
                f"it runs again at {task.not_before:%H:%M:%S} UTC",
                None,
            )
        return (
            f"queued {since}, attempt {task.attempt}",
            "a worker claims it; if its message is lost it is sent again",
            3,
        )
    if task.lease is not None and task.lease.expires_at <= now:
        return f"running, but its lease ended {_ago(task.lease.expires_at, now)}", "another worker takes it over", 2
    return f"running {_ago(task.started_at, now)}, execution {task.executions}", "its worker finishes it", None


def _of_job(job: Job, item: str, state: str, owner: str, what: str, when: str, rung: int | None = None) -> Explanation:
    return Explanation(job.id, str(job.status), item, state, str(owner), what, when, rung)


def _ago(since: datetime | None, now: datetime) -> str:
    return f"for {_span(now - since)}" if since is not None else "for an unknown time"


def _when(at: datetime, now: datetime) -> str:
    return (
        f"in {_span(at - now)}, at {at:%H:%M:%S} UTC" if at > now else f"at the next tick (due for {_span(now - at)})"
    )


def _span(span: timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    if seconds < 120:  # noqa: PLR2004 - two minutes read better in seconds
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h {seconds % 3600 // 60} min"  # noqa: PLR2004
