"""The laws that a single write can break, as pure checks (§1.3, §1.4).

The gateway runs them on every commit before it is sent; the simulator and the
audit run them again on what was written.
"""

from __future__ import annotations

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.drivers import DrivenBy, Undriven
from mos.domain.errors import LawViolation
from mos.domain.model import Task, TaskStatus
from mos.domain.transitions import By, job_transition, task_transition

BUDGETS = {
    "reap_count": frozenset({By.PRODUCTION_RETRY, By.OPERATOR}),
    "failures": frozenset({By.PRODUCTION_RETRY, By.OPERATOR}),
    "executions": frozenset({By.OPERATOR}),
}
"""Who may take back what was spent: the joint budget outlives an automatic retry (§3.6)."""


def check_task(change: TaskChange, by: By, driver: DrivenBy) -> None:
    """Refuse an illegal transition, a running task without a lease, a number that goes back, no driver.

    Raises:
        LawViolation: names the task, the rule and what was attempted.
    """
    before, after = change.before, change.after
    where = f"task {after.id} ({before.status if before else 'new'} → {after.status} by {by})"
    if before is None or before.status is not after.status or _taken_over(change):
        _moved(where, change, by)
    elif before.terminal and after != before.replace(check_by=after.check_by, check_at=after.check_at):
        raise LawViolation(f"{where}: a terminal task is not rewritten", code="terminal_rewritten")
    if before is not None:
        _counters(where, before, after, by)
    if after.status is not TaskStatus.RUNNING and after.lease is not None:
        raise LawViolation(f"{where}: a task that does not run holds no lease", code="stray_lease")
    if _lost_its_lease(before, after):
        raise LawViolation(f"{where}: a task runs under a lease", code="no_lease")
    _driven(where, driver)


def _moved(where: str, change: TaskChange, by: By) -> None:
    """What holds for a task that enters a status."""
    before, after = change.before, change.after
    row = task_transition(before.status if before else None, after.status)
    if row is None or by not in row.by:
        raise LawViolation(f"{where}: this transition is not in the table", code="illegal_transition")
    if row.supersedes and before is not None and after.attempt != before.attempt + 1:
        raise LawViolation(f"{where}: it starts a new attempt, one above the last", code="same_attempt")
    if after.status is TaskStatus.QUEUED and after.queued_at is None:
        raise LawViolation(f"{where}: a queued task says since when", code="no_queued_at")


def _counters(where: str, before: Task, after: Task, by: By) -> None:
    if after.attempt < before.attempt:
        raise LawViolation(f"{where}: the attempt went back", code="attempt_went_back")
    for name, allowed in BUDGETS.items():
        if getattr(after, name) < getattr(before, name) and by not in allowed:
            raise LawViolation(f"{where}: {name} went back", code="budget_went_back")


def _lost_its_lease(before: Task | None, after: Task) -> bool:
    """A running task has a lease, but for a render that nexrender has and what older writers left without one."""
    if after.status is not TaskStatus.RUNNING or after.lease is not None or after.render_submitted:
        return False
    return before is None or before.status is not TaskStatus.RUNNING or before.lease is not None


def check_job(change: JobChange, by: By, driver: DrivenBy) -> None:
    """Refuse an illegal transition or a job without a driver.

    Raises:
        LawViolation: names the job, the rule and what was attempted.
    """
    before, after = change.before, change.after
    where = f"job {after.id} ({before.status if before else 'new'} → {after.status} by {by})"
    if before is None or before.status is not after.status:
        row = job_transition(before.status if before else None, after.status)
        if row is None or by not in row.by:
            raise LawViolation(f"{where}: this transition is not in the table", code="illegal_transition")
    _driven(where, driver)


def check_shape(commit: Commit) -> None:
    """One document is changed once in a commit.

    Raises:
        LawViolation: names the document.
    """
    ids = [("task", change.after.id) for change in commit.tasks] + [("job", change.after.id) for change in commit.jobs]
    twice = {pair for pair in ids if ids.count(pair) > 1} if len(ids) != len(set(ids)) else set()
    if twice:
        kind, name = min(twice)
        raise LawViolation(f"{kind} {name} is changed twice in one commit", code="changed_twice")


def _taken_over(change: TaskChange) -> bool:
    before, after = change.before, change.after
    if before is None or after.lease is None or after.status is not TaskStatus.RUNNING:
        return False
    return before.lease is None or before.lease.token != after.lease.token


def _driven(where: str, driver: DrivenBy) -> None:
    if isinstance(driver, Undriven):
        raise LawViolation(f"{where}: nobody would drive it: {driver.reason}", code="no_driver")
