"""Stranded renders: all shots settled, `needsAeRerender`, and nobody queued the render (§3.3 rule 1).

The one-shot callback that starts the render was lost. What the flag asks for is
done once: the commit that does it clears the flag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.completion import enqueue
from mos.domain.jobs import digest
from mos.domain.model import Job, JobStatus, ShotStatus, Task, TaskStatus
from mos.domain.transitions import By

RENDER_STEP = "render"


class StrandedKind(StrEnum):
    """What a set flag leads to."""

    QUEUE = "queue_render"
    """The render was never queued: queue it."""
    CLEAR = "clear_flag"
    """A render is under way, or there is none to queue."""
    RENDER_AGAIN = "render_again"
    """The last render is completed: a new one, with its own delivery. A completed task stays as it is."""


@dataclass(frozen=True)
class StrandedAct:
    """What to do with one job, as one commit."""

    kind: StrandedKind
    reason: str
    commit: Commit


def decide_stranded(job: Job, tasks: Iterable[Task], *, now: datetime) -> StrandedAct | None:
    """The act for a processing job whose shots are settled and whose flag is set; None for any other job.

    A flag on a job with unsettled shots is stalled-jobs' affair.
    """
    if job.status is not JobStatus.PROCESSING or not job.needs_ae_rerender or not job.settled:
        return None
    tasks = tuple(tasks)
    render = _newest_render(tasks)
    if render is None:
        return _act(job, StrandedKind.CLEAR, "the job has no render", (), now)
    if render.status in {TaskStatus.PENDING, TaskStatus.WAITING}:
        reason = "all shots are settled and the render was never queued"
        queued = TaskChange(render, enqueue(render, now), reason)
        return _act(job, StrandedKind.QUEUE, reason, (*_normalised(job, tasks, now), queued), now)
    if render.status is TaskStatus.COMPLETED:
        reason = "a new render was asked for after the last one"
        return _act(job, StrandedKind.RENDER_AGAIN, reason, _once_more(render, tasks, now), now)
    return _act(job, StrandedKind.CLEAR, f"the render is {render.status}", (), now)


def _newest_render(tasks: Sequence[Task]) -> Task | None:
    """The open one, else the one that was created last."""
    renders = [task for task in tasks if task.step_type == RENDER_STEP]
    return max(renders, key=lambda task: (not task.terminal, _number(task)), default=None)


def _number(task: Task) -> int:
    number = task.input.get("submission")
    return number if isinstance(number, int) else 1


def _act(job: Job, kind: StrandedKind, reason: str, changes: Sequence[TaskChange], now: datetime) -> StrandedAct:
    settled = {
        name: shot.model_copy(update={"status": ShotStatus.COMPLETED})
        if shot.status is ShotStatus.OUTPUT_READY and kind is StrandedKind.QUEUE
        else shot
        for name, shot in job.shots.items()
    }
    after = job.replace(shots=settled, needs_ae_rerender=False)
    commit = Commit(
        by=By.RENDER_RECOVERY,
        act=str(kind),
        correlation_id=job.correlation_id,
        tasks=tuple(changes),
        jobs=(JobChange(job, after, reason, check_at=None if changes else now),),
    )
    return StrandedAct(kind, reason, commit)


def _normalised(job: Job, tasks: Sequence[Task], now: datetime) -> tuple[TaskChange, ...]:
    """The open tasks of output-ready shots are completed: their output is there."""
    ready = {name: shot for name, shot in job.shots.items() if shot.status is ShotStatus.OUTPUT_READY}
    changes = []
    for task in tasks:
        shot = ready.get(task.shot_id or "")
        if shot is None or task.terminal:
            continue
        last = not any(other.shot_id == task.shot_id and task.id in other.depends_on for other in tasks)
        done = task.replace(
            status=TaskStatus.COMPLETED,
            output_key=shot.output_key if last else task.output_key,
            completed_at=now,
            lease=None,
            not_before=None,
            error=None,
        )
        changes.append(TaskChange(task, done, "its shot's output is ready"))
    return tuple(changes)


def _once_more(render: Task, tasks: Sequence[Task], now: datetime) -> tuple[TaskChange, ...]:
    """A new render task, queued, and new tasks of what follows it."""
    number = sum(task.step_type == RENDER_STEP for task in tasks) + 1
    by_id = {task.id: task for task in tasks}
    chain = [render]
    while chain[-1].next and chain[-1].next[0] in by_id:
        chain.append(by_id[chain[-1].next[0]])
    ids = [f"{task.job_id}.{task.step_type}.{number}" for task in chain]
    fresh = [
        _fresh(task, ids[index], ids[index - 1 : index], ids[index + 1 : index + 2], number)
        for index, task in enumerate(chain)
    ]
    return tuple(
        TaskChange(None, enqueue(task, now) if not index else task, "a new render was asked for")
        for index, task in enumerate(fresh)
    )


def _fresh(task: Task, name: str, before: list[str], after: list[str], number: int) -> Task:
    given = {**task.input, "submission": number}
    return Task(
        id=name,
        job_id=task.job_id,
        step_type=task.step_type,
        status=TaskStatus.WAITING,
        depends_on=tuple(before) or task.depends_on,
        next=tuple(after),
        input=given,
        input_digest=digest({"step": task.step_type, "input": given, "upstream": before}),
        correlation_id=task.correlation_id,
    )
