"""Why is this job not moving (§4.1 `why`)? From its state alone: the item, its owner, what happens and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from mos.domain.dispatching import WITHOUT_SLOT
from mos.domain.drivers import Done, Driver, People, Undriven, ViaJob, driver_of_job, driver_of_task
from mos.domain.model import Job, JobStatus, Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By

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
    depths: Mapping[str, int] | None = None,
) -> Explanation:
    """The first answer that fits: the job's own state, else its oldest open task.

    `unreadable` are paths of its tasks that do not validate: while nothing else moves, they hold it up.
    `depths` are the messages that wait in each queue, as far as they could be read.
    """
    match job.status:
        case JobStatus.COMPLETED:
            return _of_job(job, "nothing", "all its tasks are completed", "nobody", "nothing is left to do", "–")
        case JobStatus.PENDING if unreadable:
            return _broken(job, unreadable)
        case JobStatus.PENDING:
            return _pending(job, paused=paused)
        case JobStatus.CANCELLED:
            return _cancelled(job, [task for task in tasks if not task.terminal])
        case JobStatus.FAILED:
            return _failed(job, now, policy)
        case JobStatus.PROCESSING:
            return _processing(job, list(tasks), now, policy, unreadable, depths or {})


def _pending(job: Job, *, paused: bool) -> Explanation:
    if paused and job.kind not in WITHOUT_SLOT:
        state, what, when = "production is paused", "it starts when config/production says so", "when somebody resumes"
        return _of_job(job, "the job", state, "a person", what, when)
    return _of_job(job, "the job", "it waits for a free slot", "dispatch", "it starts, oldest first", "next tick")


def _broken(job: Job, unreadable: Sequence[str]) -> Explanation:
    state = f"{len(unreadable)} of its documents cannot be read"
    what = "mend the document; the finding UNREADABLE_RECORD says what is wrong"
    return _of_job(job, unreadable[0], state, "a person", what, "when somebody acts", 5)


def _cancelled(job: Job, left: list[Task]) -> Explanation:
    if not left:
        return _of_job(job, "nothing", "it was cancelled", "nobody", "nothing is left to do", "–")
    return _of_job(job, left[0].id, f"{len(left)} of its tasks are open", "dispatch", "they are cancelled", "next tick")


def _failed(job: Job, now: datetime, policy: Policy) -> Explanation:
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


def stuck(tasks: Iterable[Task], now: datetime) -> Task | None:
    """The task that holds a processing job up: what is overdue before what is not, and the oldest of them."""
    active = [task for task in tasks if task.status in {TaskStatus.RUNNING, TaskStatus.QUEUED}]
    overdue = [task for task in active if task.check_at is not None and task.check_at <= now]
    return min(overdue or active, key=lambda one: (one.check_at or now, one.id), default=None)


def _processing(
    job: Job,
    tasks: list[Task],
    now: datetime,
    policy: Policy,
    unreadable: Sequence[str],
    depths: Mapping[str, int],
) -> Explanation:
    task = stuck(tasks, now)
    if task is not None:
        return _of_task(job, task, now, policy, depths)
    if unreadable:
        return _broken(job, unreadable)
    return _idle(job, tasks, now, policy)


def _idle(job: Job, tasks: list[Task], now: datetime, policy: Policy) -> Explanation:
    waiting = sum(not task.terminal for task in tasks)
    driver = driver_of_job(job, policy, now=job.check_at or now)
    by, at = (driver.by, job.check_at or driver.at) if isinstance(driver, Driver) else (By.STALLED_JOBS, now)
    state = f"nothing runs or waits in a queue; {waiting} of {len(tasks)} tasks are open"
    return _of_job(job, "the job", state, by, "it is reconciled, or failed with its shape", _when(at, now), 6)


def _of_task(job: Job, task: Task, now: datetime, policy: Policy, depths: Mapping[str, int]) -> Explanation:
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
    state, what, rung = _state(task, now, policy, depths)
    return _of_job(job, task.id, state, owner, what, when, rung)


State = tuple[str, str, int | None]


def _state(task: Task, now: datetime, policy: Policy, depths: Mapping[str, int]) -> State:
    step = policy.pipeline.steps.get(task.step_type)
    if step is None:
        return f"the pipeline has no step {task.step_type}", "it is failed when no deployment brings the step", 6
    depth = depths.get(step.queue)
    return _queued(task, now, policy, depth) if task.status is TaskStatus.QUEUED else _running(task, now, depth)


def _queued(task: Task, now: datetime, policy: Policy, depth: int | None) -> State:
    since = f"queued {_ago(task.queued_at, now)}"
    if task.unsent:
        return f"{since}, its message not sent yet", "the message is sent; that spends nothing", 3
    if task.not_before is not None and task.not_before > now:
        error = task.error.message if task.error else "a failure"
        state = f"waits after failure {task.failures}: {error}"
        return state, f"it runs again at {task.not_before:%H:%M:%S} UTC", None
    if task.waits_since is not None and task.waits_since + policy.pickup(task) > now:
        return f"{since}, attempt {task.attempt}", "a worker claims it", None
    if depth == 0:
        return f"{since}, and its queue is empty: its message is lost", "the same attempt is sent again", 3
    if depth is None:
        return f"{since}, past its pickup time", "a worker claims it; if its message is lost it is sent again", 3
    state = f"{since}; {depth} messages wait in its queue: it is late, not lost"
    return state, "a worker claims it in its turn; it is never sent again for its age", None


def _running(task: Task, now: datetime, depth: int | None) -> State:
    if task.lease is None or task.lease.expires_at > now:
        return f"running {_ago(task.started_at, now)}, execution {task.executions}", "its worker finishes it", None
    state = f"running, but its lease ended {_since(now - task.lease.expires_at)}"
    if depth == 0:
        return f"{state}, and its queue is empty", "a new attempt is sent, at most three times", 3
    return state, "another worker takes it over when its message comes back", 2


def _of_job(job: Job, item: str, state: str, owner: str, what: str, when: str, rung: int | None = None) -> Explanation:
    return Explanation(job.id, str(job.status), item, state, str(owner), what, when, rung)


def _ago(since: datetime | None, now: datetime) -> str:
    return f"for {_span(now - since)}" if since is not None else "for an unknown time"


def _since(span: timedelta) -> str:
    return f"{_span(span)} ago"


def _when(at: datetime, now: datetime) -> str:
    return (
        f"in {_span(at - now)}, at {at:%H:%M:%S} UTC" if at > now else f"at the next tick (due for {_span(now - at)})"
    )


def _span(span: timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    if seconds < 120:  # noqa: PLR2004 - two minutes read better in seconds
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h {seconds % 3600 // 60} min"  # noqa: PLR2004
