"""Deliveries, and renders that the farm does not have yet (§3.3 rule 3): the lease and lost-or-late rules of §3.2."""

from __future__ import annotations

from datetime import UTC, datetime

from mos.domain import budgets
from mos.domain.claims import OwnerState, lease_end
from mos.domain.model import Task, TaskStatus
from mos.domain.pipeline import StepSpec
from mos.domain.policy import Policy
from mos.domain.rendering.acts import RenderAct, RenderActKind
from mos.domain.rendering.evidence import Need, RenderEvidence
from mos.domain.staleness import Late, lost_or_late


def decide_unsubmitted(task: Task, evidence: RenderEvidence, *, now: datetime, policy: Policy) -> RenderAct:
    """What to do with a queued or running task that a lease or a message drives."""
    step = policy.pipeline.steps.get(task.step_type)
    if step is None or step.messages_only:
        return _no_such_step(task, now, policy)
    if task.status is TaskStatus.RUNNING:
        return _running(task, step, evidence, now, policy)
    return _queued(task, step, evidence, now, policy)


def _running(task: Task, step: StepSpec, evidence: RenderEvidence, now: datetime, policy: Policy) -> RenderAct:
    ends = lease_end(task, policy)
    announced = task.lease is not None and evidence.owners.get(task.lease.owner) is OwnerState.STOPPED
    if not announced and ends + policy.timings.lease_grace > now:
        return _leave(task, "its lease is alive or within the grace", ends + policy.timings.lease_grace)
    waits = _not_lost(task, step, min(ends, now), evidence, now)
    if isinstance(waits, RenderAct):
        return waits
    why = "its owner stopped" if announced else "its lease ended"
    if not budgets.may_execute(task):
        return _strand(task, f"{why} after the last permitted execution", TaskStatus.DEAD)
    if not announced and not budgets.may_reap(task):
        return _strand(task, f"{why} once more after the last permitted reap")
    return RenderAct(kind=RenderActKind.REAP, task=task, reason=f"{why}; {waits}", counted=not announced)


def _queued(task: Task, step: StepSpec, evidence: RenderEvidence, now: datetime, policy: Policy) -> RenderAct:
    since = _waits_since(task)
    if task.unsent:
        due = (task.queued_at or now) + policy.timings.unsent_grace
        if due > now:
            return _leave(task, "its sender still has time", due)
        return RenderAct(kind=RenderActKind.SEND, task=task, reason="queued but never sent")
    if since + step.pickup_ttl > now:
        return _leave(task, "within its pickup time", since + step.pickup_ttl)
    waits = _not_lost(task, step, since, evidence, now)
    if isinstance(waits, RenderAct):
        return waits
    if not budgets.may_resend(task):
        return _strand(task, f"sent {task.resends + 1} times and never claimed")
    return RenderAct(kind=RenderActKind.RESEND, task=task, reason=f"its message is lost: {waits}")


def _not_lost(task: Task, step: StepSpec, since: datetime, evidence: RenderEvidence, now: datetime) -> RenderAct | str:
    """The act that waits (or asks for the queue), or why the message is lost."""
    if step.queue not in evidence.queues:
        return RenderAct(kind=RenderActKind.LOOK, task=task, reason="lost or late?", needs=Need.QUEUE)
    verdict = lost_or_late(evidence.queues[step.queue], since=since, pickup_ttl=step.pickup_ttl)
    if isinstance(verdict, Late):
        until = now + step.pickup_ttl / 2
        return RenderAct(kind=RenderActKind.LEAVE, task=task, reason=f"late: {verdict.reason}", until=until, late=True)
    return verdict.reason


def _no_such_step(task: Task, now: datetime, policy: Policy) -> RenderAct:
    """A deployment may be under way whose pipeline knows the step: it gets as long as a job may stand still."""
    until = _waits_since(task) + policy.timings.stalled_after
    why = f"the pipeline has no step {task.step_type}"
    if until > now:
        return _leave(task, why, until)
    return _strand(task, f"{why}: nobody will ever run it")


def _waits_since(task: Task) -> datetime:
    since = task.waits_since or datetime.min.replace(tzinfo=UTC)
    return max(since, task.send.at or since)


def _leave(task: Task, reason: str, until: datetime) -> RenderAct:
    return RenderAct(kind=RenderActKind.LEAVE, task=task, reason=reason, until=until)


def _strand(task: Task, reason: str, ends_as: TaskStatus = TaskStatus.FAILED) -> RenderAct:
    return RenderAct(kind=RenderActKind.STRAND, task=task, reason=reason, ends_as=ends_as)
