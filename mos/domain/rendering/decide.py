"""Render recovery's decision (§3.3): which render and deliver tasks are acted on, and which are left until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Task, TaskStatus
from mos.domain.pipeline import OWN_RECOVERY
from mos.domain.policy import Policy
from mos.domain.rendering.acts import WAITING_KINDS, RenderAct, RenderActKind
from mos.domain.rendering.evidence import RenderEvidence, RenderLimits, queue_of
from mos.domain.rendering.lost import decide_unsubmitted
from mos.domain.rendering.submitted import POLL_STEP, decide_submitted


def decide_render(
    task: Task, evidence: RenderEvidence, *, now: datetime, limits: RenderLimits, policy: Policy
) -> RenderAct | None:
    """The act for one task; None where it is not this mission's.

    An act of kind `look` names the evidence that is lacking: gather it and
    decide again. It takes at most four rounds.
    """
    if task.step_type not in OWN_RECOVERY:
        return None
    if task.status is TaskStatus.RUNNING and task.render_submitted:
        return decide_submitted(task, evidence, now=now, limits=limits, policy=policy)
    if task.status in {TaskStatus.QUEUED, TaskStatus.RUNNING}:
        return decide_unsubmitted(task, evidence, now=now, policy=policy)
    return None


@dataclass(frozen=True)
class RenderPlan:
    """Acts in order, oldest first; `deferred` were over the act limit and stay due."""

    acts: tuple[RenderAct, ...]
    sightings: tuple[Sighting, ...]
    deferred: int = 0

    @property
    def lacking(self) -> tuple[RenderAct, ...]:
        """What has to be gathered before this plan may be carried out."""
        return tuple(act for act in self.acts if act.kind is RenderActKind.LOOK)


def decide_renders(
    tasks: Iterable[Task], evidence: RenderEvidence, *, now: datetime, limits: RenderLimits, policy: Policy
) -> RenderPlan:
    """The plan of one tick. A healthy or merely slow farm yields no act but leaving (law 10)."""
    decided = (decide_render(task, evidence, now=now, limits=limits, policy=policy) for task in tasks)
    acts = sorted((act for act in decided if act is not None), key=_oldest_first)
    waiting = [act for act in acts if act.kind in WAITING_KINDS]
    work = [act for act in acts if act.kind not in WAITING_KINDS]
    found = {act.sighting.id: act.sighting for act in acts if act.sighting is not None}
    return RenderPlan(
        acts=tuple(work[: limits.max_acts] + waiting),
        sightings=(*found.values(), *_late(waiting, evidence, now, policy)),
        deferred=max(0, len(work) - limits.max_acts),
    )


def _oldest_first(act: RenderAct) -> tuple[datetime, str]:
    return (act.task.queued_at or act.task.check_at or datetime.max.replace(tzinfo=UTC), act.task.id)


def _late(waiting: list[RenderAct], evidence: RenderEvidence, now: datetime, policy: Policy) -> list[Sighting]:
    """One finding a queue: how many wait, how deep it is, how old the oldest is."""
    found = []
    late = [(_queue_of(act, policy), act.task) for act in waiting if act.late]
    for name in sorted({queue for queue, _ in late}):
        tasks = [task for queue, task in late if queue == name]
        queue = evidence.queues.get(name)
        oldest = min(task.queued_at or now for task in tasks)
        seen = {
            "tasks": len(tasks),
            "depth": queue.depth if queue else None,
            "oldestSeconds": round((now - oldest).total_seconds()),
        }
        found.append(Sighting(FindingCode.BACKLOG, f"queues/{name}", seen))
    return found


def _queue_of(act: RenderAct, policy: Policy) -> str:
    from_poll = act.task.render_submitted and act.task.status is TaskStatus.RUNNING
    return queue_of(policy, POLL_STEP if from_poll else act.task.step_type)
