"""The reaper's decision (§3.2): which orphaned tasks come back, and which are left until when.

Pure: observations, now, limits → a plan of fenced acts, each with its reason.
"Leave it until T" is a first-class answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from mos.domain import budgets
from mos.domain.claims import OwnerState, lease_end
from mos.domain.errors import SettingsError
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Task, TaskStatus
from mos.domain.pipeline import OWN_RECOVERY
from mos.domain.policy import Policy
from mos.domain.staleness import Late, QueueState, lost_or_late


class ReapKind(StrEnum):
    """What is to be done with one suspicious task."""

    SEND = "send"
    """It is queued and its message was never sent."""
    RESEND = "resend"
    """It is queued and its message is lost: the same attempt again."""
    REAP = "reap"
    """Its worker is gone and its message is lost: a new attempt."""
    STRAND = "strand"
    """A budget is used up: fail it as `stranded_pipeline`."""
    LEAVE = "leave"
    """Late, not lost: look again at `until`."""


@dataclass(frozen=True)
class ReapAct:
    """One act on one task. The observed task is its fence."""

    kind: ReapKind
    task: Task
    reason: str
    until: datetime | None = None
    counted: bool = True
    """Whether a reap is counted (not when the loss was announced)."""
    ends_as: TaskStatus = TaskStatus.FAILED
    """What a stranded task becomes: `dead` past its joint budget, and then its job needs a person (law 9)."""


@dataclass(frozen=True)
class ReaperObservations:
    """What the reaper read. `queues` and `owners` are read only when something is suspicious."""

    running: tuple[Task, ...]
    queued: tuple[Task, ...]
    queues: Mapping[str, QueueState] = field(default_factory=dict)
    owners: Mapping[str, OwnerState] = field(default_factory=dict)
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    workers_seen: bool = True
    """Whether any worker reported lately."""
    unreadable: tuple[Sighting, ...] = ()
    """Documents that could not be understood."""


@dataclass(frozen=True)
class ReaperLimits:
    """Bounds of one tick."""

    max_acts: int = 50
    page: int = 300

    def __post_init__(self) -> None:
        """Refuse what would mean "all" or nothing at all by mistake.

        Raises:
            SettingsError: names the limit.
        """
        for name, value, least in (("max_acts", self.max_acts, 0), ("page", self.page, 1)):
            if value < least:
                raise SettingsError(f"{name} must be at least {least}, not {value}", details={"field": name})


@dataclass(frozen=True)
class ReaperPlan:
    """Acts in order, oldest first; `deferred` were over the act limit and stay due."""

    acts: tuple[ReapAct, ...]
    sightings: tuple[Sighting, ...]
    deferred: int = 0


def decide_reaping(seen: ReaperObservations, *, now: datetime, limits: ReaperLimits, policy: Policy) -> ReaperPlan:
    """The plan of one tick. A healthy or merely overloaded fleet yields no act but leaving (law 10)."""
    acts = [_running(task, seen, now, policy) for task in seen.running]
    acts += [_queued(task, seen, now, policy) for task in seen.queued]
    ours = sorted((act for act in acts if act is not None), key=_oldest_first)
    leaves = [act for act in ours if act.kind is ReapKind.LEAVE]
    work = [act for act in ours if act.kind is not ReapKind.LEAVE]
    return ReaperPlan(
        acts=tuple(work[: limits.max_acts] + leaves),
        sightings=(*_late(leaves, seen, now, policy), *_dead_letters(seen), *seen.unreadable),
        deferred=max(0, len(work) - limits.max_acts),
    )


def _oldest_first(act: ReapAct) -> tuple[datetime, str]:
    return (act.task.queued_at or act.task.check_at or datetime.max.replace(tzinfo=UTC), act.task.id)


def _running(task: Task, seen: ReaperObservations, now: datetime, policy: Policy) -> ReapAct | None:
    if not _mine(task, policy, TaskStatus.RUNNING):
        return None
    ends = lease_end(task, policy)
    if _ownerless(task, policy):
        return _no_such_step(task, ends, now, policy)
    owner = task.lease.owner if task.lease else ""
    announced = seen.owners.get(owner) is OwnerState.STOPPED
    if not announced and ends + policy.timings.lease_grace > now:
        until = ends + policy.timings.lease_grace
        return _leave(task, "its lease is alive or within the grace", until, now, policy)
    step = policy.step(task)
    queue = seen.queues.get(step.queue)
    verdict = lost_or_late(queue, since=min(ends, now), pickup_ttl=step.pickup_ttl)
    if isinstance(verdict, Late):
        return _leave_late(task, verdict, queue, now, policy)
    why = "its owner stopped" if announced else "its lease ended"
    if not budgets.may_execute(task):
        return ReapAct(ReapKind.STRAND, task, f"{why} after the last permitted execution", ends_as=TaskStatus.DEAD)
    if not announced and not budgets.may_reap(task):
        return ReapAct(ReapKind.STRAND, task, f"{why} once more after the last permitted reap")
    return ReapAct(ReapKind.REAP, task, f"{why}; {verdict.reason}", counted=not announced)


def _queued(task: Task, seen: ReaperObservations, now: datetime, policy: Policy) -> ReapAct | None:
    if not _mine(task, policy, TaskStatus.QUEUED):
        return None
    since = _sent(task)
    if _ownerless(task, policy):
        return _no_such_step(task, since, now, policy)
    if task.unsent:
        due = (task.queued_at or now) + policy.timings.unsent_grace
        if due > now:
            return _leave(task, "its sender still has time", due, now, policy)
        return ReapAct(ReapKind.SEND, task, "queued but never sent")
    step = policy.step(task)
    if since + step.pickup_ttl > now:
        return _leave(task, "within its pickup time", since + step.pickup_ttl, now, policy)
    queue = seen.queues.get(step.queue)
    verdict = lost_or_late(queue, since=since, pickup_ttl=step.pickup_ttl)
    if isinstance(verdict, Late):
        return _leave_late(task, verdict, queue, now, policy)
    if not budgets.may_resend(task):
        return ReapAct(ReapKind.STRAND, task, f"sent {task.resends + 1} times and never claimed")
    return ReapAct(ReapKind.RESEND, task, f"its message is lost: {verdict.reason}")


def _sent(task: Task) -> datetime:
    """When the newest message of a queued task went out, or may be picked up: an outage may have held it back.

    A task that says nothing at all has waited for ever.
    """
    since = task.waits_since or datetime.min.replace(tzinfo=UTC)
    return max(since, task.send.at or since)


def _leave(task: Task, reason: str, until: datetime, now: datetime, policy: Policy) -> ReapAct:
    """Look again at `until`: at the latest after as long as a job may stand still, whatever a stamp says."""
    return ReapAct(ReapKind.LEAVE, task, reason, min(until, now + policy.timings.stalled_after))


def _leave_late(task: Task, late: Late, queue: QueueState | None, now: datetime, policy: Policy) -> ReapAct:
    """Half the pickup time; a queue that could not be read is asked again at the next tick."""
    rest = policy.pickup(task) / 2 if queue is not None else policy.timings.unsent_grace
    return _leave(task, f"late: {late.reason}", now + rest, now, policy)


def owned(task: Task, policy: Policy) -> bool:
    """Never `render` and `deliver`, whatever a document's `checkBy` claims and whether the pipeline has them (§3.1)."""
    if task.step_type in OWN_RECOVERY:
        return False
    step = policy.pipeline.steps.get(task.step_type)
    return _ownerless(task, policy) or (step is not None and step.rerunnable)


def _mine(task: Task, policy: Policy, status: TaskStatus) -> bool:
    return task.status is status and owned(task, policy)


def _ownerless(task: Task, policy: Policy) -> bool:
    """Whether no step of the pipeline can ever run it. None at all declared is a bad selector: then nobody acts."""
    step = policy.pipeline.steps.get(task.step_type)
    return bool(policy.pipeline.steps) and (step is None or step.messages_only)


def _no_such_step(task: Task, since: datetime, now: datetime, policy: Policy) -> ReapAct:
    """A deployment may be under way whose pipeline knows the step: it gets as long as a job may stand still."""
    why = f"the pipeline has no step {task.step_type}"
    until = since + policy.timings.stalled_after
    if until > now:
        return _leave(task, why, until, now, policy)
    return ReapAct(ReapKind.STRAND, task, f"{why}: nobody will ever run it")


def _late(leaves: list[ReapAct], seen: ReaperObservations, now: datetime, policy: Policy) -> list[Sighting]:
    late = [act for act in leaves if act.reason.startswith("late")]
    found = []
    for name in sorted({policy.step(act.task).queue for act in late} & seen.queues.keys()):
        ours = [act for act in late if policy.step(act.task).queue == name]
        queue = seen.queues[name]
        oldest = min(act.task.queued_at or now for act in ours)
        evidence = {
            "tasks": len(ours),
            "depth": queue.depth,
            "oldestSeconds": max(0, round((now - oldest).total_seconds())),
        }
        until = max(act.until or now for act in ours)
        found.append(Sighting(FindingCode.BACKLOG, f"queues/{name}", evidence, until))
        pickup = policy.pickup(ours[0].task)
        idle = queue.last_claim is None or now - queue.last_claim > pickup
        if idle and not seen.workers_seen:
            found.append(Sighting(FindingCode.NO_WORKERS, f"queues/{name}", evidence, until))
    return found


def _dead_letters(seen: ReaperObservations) -> list[Sighting]:
    return [
        Sighting(FindingCode.DEAD_LETTERS, f"queues/{queue}", {"messages": depth})
        for queue, depth in sorted(seen.dead_letters.items())
        if depth > 0
    ]
