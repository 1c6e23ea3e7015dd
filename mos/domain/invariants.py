"""The invariants of §6.2 that a recovery log and a set of documents can show, as pure checks.

The same functions judge a test's run, a simulated one and a log read from
production. Each returns what it found broken; nothing found is an empty list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mos.domain.drivers import Done, DrivenBy, Driver, Undriven, ViaJob, driver_of_job, driver_of_task
from mos.domain.errors import TRANSIENT, FailureClass
from mos.domain.failing import RETRIED_BY_WORKER
from mos.domain.findings import Finding
from mos.domain.model import Job, JobStatus, Task, TaskStatus
from mos.domain.policy import MAX_EXECUTIONS, MAX_REAPS, Policy
from mos.domain.recovery_log import History, LogEntry, LogLine
from mos.domain.transitions import By, job_transition, task_transition

MAX_RETRIES = 2
"""Automatic retries of one job (law 9)."""
MAX_SUBMISSIONS = 3
"""Submissions of one render (law 9)."""
RECOVERING = frozenset({By.REAPER, By.RENDER_RECOVERY, By.STALLED_JOBS, By.PRODUCTION_RETRY})
WITHOUT_SLOT = frozenset({"voice_training"})
SIGNED = "worker:"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Violation:
    """An invariant that does not hold, for which document, and what shows it."""

    invariant: str
    subject: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is judged: the log's entries and the documents as they are after them."""

    policy: Policy
    entries: Sequence[LogEntry] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    max_concurrent_jobs: int | None = None

    @property
    def history(self) -> History:
        return History(self.entries)


Found = Iterator[Violation]


def terminal_is_absorbing(seen: Evidence) -> Found:
    """S2: every change is in the transition table, made by somebody who may."""
    for entry, line in seen.history.steps():
        if line.before != line.after and not _legal(entry, line):
            yield Violation("S2", line.path, f"{line.before} → {line.after} by {entry.by} ({entry.id})")


def _legal(entry: LogEntry, line: LogLine) -> bool:
    if line.of_task:
        row = task_transition(TaskStatus(line.before) if line.before else None, TaskStatus(line.after))
        return row is not None and entry.by in row.by
    job_row = job_transition(JobStatus(line.before) if line.before else None, JobStatus(line.after))
    return job_row is not None and entry.by in job_row.by


def attempts_never_go_back(seen: Evidence) -> Found:
    """S3: the fencing number grows, and what leaves failed or dead has a new one."""
    for earlier, (entry, line) in seen.history.pairs():
        if not line.of_task:
            continue
        revived = line.before in {TaskStatus.FAILED, TaskStatus.DEAD} and line.after != line.before
        if line.attempt < earlier.attempt + revived:
            yield Violation("S3", line.path, f"attempt {earlier.attempt} → {line.attempt} ({entry.id})")


def only_the_holder_ends_work(seen: Evidence) -> Found:
    """S3: while a lease is alive, no other worker moves its task; one that spends a budget is no holder.

    Workers sign their commits as `worker:{owner}`; what other signatures hide is not judged.
    """
    for entry, line in seen.history.steps():
        signed = entry.actor.startswith(SIGNED) and line.lease_owner_before is not None
        if not signed or entry.act == "spent" or line.lease_token is not None or not _alive(entry, line):
            continue
        if entry.actor != f"{SIGNED}{line.lease_owner_before}":
            yield Violation("S3", line.path, f"{entry.actor} {entry.act}: the lease is another's ({entry.id})")


def leases_never_overlap(seen: Evidence) -> Found:
    """S4: a counted takeover follows the end of the lease before it, and a token is given once."""
    for path, steps in seen.history.by_path.items():
        tokens: set[str] = set()
        reaps = 0
        for entry, line in steps:
            new = line.lease_token if line.lease_token != line.lease_token_before else None
            if new is not None and new in tokens:
                yield Violation("S4", path, f"the token {new} was given twice ({entry.id})")
            if new is not None and line.reap_count > reaps and _alive(entry, line):
                yield Violation("S4", path, f"taken over before the lease ended ({entry.id})")
            tokens |= {line.lease_token} if line.lease_token else set()
            reaps = line.reap_count


def no_live_lease_is_reaped(seen: Evidence) -> Found:
    """S6: a counted reap by a mission follows the end of the lease."""
    for earlier, (entry, line) in seen.history.pairs():
        if entry.by in RECOVERING and line.reap_count > earlier.reap_count and _alive(entry, line):
            yield Violation("S6", line.path, f"reaped before its lease ended ({entry.id})")


def _alive(entry: LogEntry, line: LogLine) -> bool:
    return line.lease_ended_before is not None and line.lease_ended_before > entry.at


def budgets_hold(seen: Evidence) -> Found:
    """S5: reaps, failures and executions of a task, retries of a job, submissions of a render."""
    for entry, line in seen.history.steps():
        step = seen.policy.pipeline.steps.get(line.step_type or "")
        spent = {
            "reaps": (line.reap_count, MAX_REAPS),
            "failures": (line.failures, step.max_failures if step else line.failures),
            "executions": (line.executions, MAX_EXECUTIONS),
            "retries": (line.retries if entry.by is By.PRODUCTION_RETRY else 0, MAX_RETRIES),
        }
        for name, (count, limit) in spent.items():
            if count > limit:
                yield Violation("S5", line.path, f"{count} {name}, at most {limit} ({entry.id})")
    for task in seen.tasks.values():
        if task.render is not None and len(task.render.attempts) > MAX_SUBMISSIONS:
            yield Violation("S5", f"tasks/{task.id}", f"{len(task.render.attempts)} submissions")


def recovery_kept_still(seen: Evidence) -> Found:
    """S7: in a run without faults, no recovery mission changes a status. Not part of `check`: it needs such a run."""
    for entry, line in seen.history.steps():
        if entry.by in RECOVERING and (line.before != line.after or entry.act == "resend"):
            yield Violation("S7", line.path, f"{entry.by} {entry.act}: {line.before} → {line.after} ({entry.id})")


def slots_are_not_exceeded(seen: Evidence) -> Found:
    """S8: at no time do more jobs process than there are slots (kinds without a slot apart)."""
    if seen.max_concurrent_jobs is None:
        return
    processing: set[str] = set()
    for entry in seen.history.entries:
        started = False
        for line in entry.changes:
            if line.of_task or line.kind in WITHOUT_SLOT:
                continue
            holds = line.after == JobStatus.PROCESSING
            started |= holds and line.path not in processing
            processing = processing | {line.path} if holds else processing - {line.path}
        if started and len(processing) > seen.max_concurrent_jobs:
            yield Violation("S8", entry.id, f"{len(processing)} jobs process, at most {seen.max_concurrent_jobs}")


def successors_follow_once(seen: Evidence) -> Found:
    """S10: the commit that completes the last dependency queues the successor, and nothing queues an attempt twice."""
    status: dict[str, str] = {}
    queued: Counter[tuple[str, int]] = Counter()
    for entry in seen.history.entries:
        before = dict(status)
        status |= {line.path: line.after for line in entry.changes}
        for line in entry.changes:
            if line.before in {TaskStatus.WAITING, TaskStatus.PENDING} and line.after == TaskStatus.QUEUED:
                queued[line.path, line.attempt] += 1
            if line.moved(TaskStatus.RUNNING, TaskStatus.COMPLETED):
                yield from _forgotten(entry, seen.tasks.get(line.id), seen, before, status)
    for (path, attempt), times in queued.items():
        if times > 1:
            yield Violation("S10", path, f"attempt {attempt} was queued {times} times")


def _forgotten(
    entry: LogEntry, done: Task | None, seen: Evidence, before: Mapping[str, str], after: Mapping[str, str]
) -> Found:
    """Successors of a completed task that this commit should have queued, and did not."""
    if done is None or before.get(f"jobs/{done.job_id}") != JobStatus.PROCESSING:
        return
    for name in done.next:
        successor = seen.tasks.get(name)
        if successor is None or before.get(f"tasks/{name}") != TaskStatus.WAITING:
            continue
        ready = all(after.get(f"tasks/{other}") == TaskStatus.COMPLETED for other in successor.depends_on)
        if ready and after[f"tasks/{name}"] != TaskStatus.QUEUED:
            yield Violation("S10", f"tasks/{name}", f"not queued by the commit that made it ready ({entry.id})")


def incidents_are_single(seen: Evidence) -> Found:
    """S12: at most one open incident per (class, subject)."""
    open_ones = Counter((one.code, one.subject) for one in seen.findings if one.closed_at is None)
    for (code, subject), count in open_ones.items():
        if count > 1:
            yield Violation("S12", subject, f"{count} open findings {code}")


def the_log_tells_everything(seen: Evidence) -> Found:
    """S13: each line starts where the one before ended, and replaying them gives every status."""
    history = seen.history
    for earlier, (entry, line) in history.pairs():
        if line.before != earlier.after:
            yield Violation("S13", line.path, f"was {earlier.after}, the next entry says {line.before} ({entry.id})")
    stored = {f"tasks/{name}": str(task.status) for name, task in seen.tasks.items()}
    stored |= {f"jobs/{name}": str(job.status) for name, job in seen.jobs.items()}
    for path, status in stored.items():
        steps = history.by_path.get(path)
        if steps and steps[-1][1].after != status:
            yield Violation("S13", path, f"is {status}, the log ends at {steps[-1][1].after}")


def final_failures_are_not_retried(seen: Evidence) -> Found:
    """S14: a class that needs a person is not tried again; `unknown` only by the worker, within its failures."""
    for earlier, (entry, line) in seen.history.pairs():
        if line.of_task:
            again = line.moved(TaskStatus.RUNNING, TaskStatus.QUEUED) and line.failures > earlier.failures
            if again and line.error_class not in RETRIED_BY_WORKER:
                yield Violation("S14", line.path, f"{line.error_class} was tried again ({entry.id})")
        elif entry.by is By.PRODUCTION_RETRY and line.moved(JobStatus.FAILED, JobStatus.PENDING):
            cls = line.incident_class or earlier.incident_class or earlier.error_class or FailureClass.UNKNOWN
            if cls not in TRANSIENT:
                yield Violation("S14", line.path, f"{cls} was retried ({entry.id})")


def everything_has_a_driver(seen: Evidence) -> Found:
    """S17 (law 1): what is stored names the mission that `driver_of` gives, and a time."""
    open_jobs = {task.job_id for task in seen.tasks.values() if not task.terminal}
    for job in seen.jobs.values():
        driver = driver_of_job(job, seen.policy, now=EPOCH, open_tasks=job.id in open_jobs)
        yield from _undriven(f"jobs/{job.id}", driver, job)
    for task in seen.tasks.values():
        path, of = f"tasks/{task.id}", seen.jobs.get(task.job_id)
        if of is None:
            if not task.terminal:
                yield Violation("S17", path, f"its job {task.job_id} does not exist")
            continue
        driver = driver_of_task(task, of, seen.policy)
        yield from _undriven(path, driver, task)
        if isinstance(driver, ViaJob) and isinstance(driver_of_job(of, seen.policy, now=EPOCH), Done | Undriven):
            yield Violation("S17", path, f"driven by its job, which is {of.status}")


def _undriven(path: str, driver: DrivenBy, stored: Task | Job) -> Found:
    if isinstance(driver, Undriven):
        yield Violation("S17", path, driver.reason)
    elif isinstance(driver, Driver) and (stored.check_by != driver.by or stored.check_at is None):
        yield Violation("S17", path, f"{stored.status}: checkBy is {stored.check_by}, should be {driver.by}")


def silence(seen: Evidence, *, now: datetime, allowance: timedelta) -> Found:
    """L2: what was due long ago, and nobody looked. Not part of `check`: it depends on the time."""
    for path, stored in _stored(seen):
        if stored.check_by is not None and stored.check_at is not None and now - stored.check_at > allowance:
            yield Violation("L2", path, f"due for {stored.check_by} since {stored.check_at:%Y-%m-%dT%H:%M:%SZ}")


def _stored(seen: Evidence) -> Iterator[tuple[str, Task | Job]]:
    yield from ((f"tasks/{name}", task) for name, task in seen.tasks.items())
    yield from ((f"jobs/{name}", job) for name, job in seen.jobs.items())


CHECKS: tuple[Callable[[Evidence], Found], ...] = (
    terminal_is_absorbing,
    attempts_never_go_back,
    only_the_holder_ends_work,
    leases_never_overlap,
    budgets_hold,
    no_live_lease_is_reaped,
    slots_are_not_exceeded,
    successors_follow_once,
    incidents_are_single,
    the_log_tells_everything,
    final_failures_are_not_retried,
    everything_has_a_driver,
)


def check(seen: Evidence) -> list[Violation]:
    """Every violation that the evidence shows."""
    return [violation for one in CHECKS for violation in one(seen)]
