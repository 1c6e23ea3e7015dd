"""Acts as commits. The mission re-reads the fence in the transaction and passes what it read there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from mos.domain.changes import Commit, TaskChange
from mos.domain.completion import Completed, decide_completion, enqueue
from mos.domain.ending import decide_end, task_error
from mos.domain.errors import FailureClass
from mos.domain.failing import leave_running
from mos.domain.messages import TaskMessage
from mos.domain.model import Job, JobStatus, Render, Task, TaskStatus
from mos.domain.rendering.acts import RenderAct, RenderActKind
from mos.domain.rendering.submitted import POLL_STEP
from mos.domain.transitions import By


def passes_fence(observed: Task, current: Task | None) -> bool:
    """Whether a task is still as it was observed: status, attempt, lease, uid and poll generation (law 3)."""
    return current is not None and _fence(observed) == _fence(current)


def _fence(task: Task) -> tuple[object, ...]:
    render = task.render or Render()
    token = task.lease.token if task.lease else None
    return (task.status, task.attempt, token, task.send.state, task.resends, render.uid, render.poll_generation)


def commit_look(act: RenderAct, task: Task) -> Commit:
    """LEAVE, SUSPECT, REPOLL: what was learnt, and when to look again. A re-poll starts the next generation."""
    render = act.render or task.render
    fields: dict[str, object] = {}
    if act.kind is RenderActKind.REPOLL and render is not None:
        render = render.model_copy(update={"poll_generation": render.poll_generation + 1})
        fields["lease"] = None  # its submitter is gone; a zombie's late write is fenced off
    after = task.replace(render=render, **fields)
    return _one(act, task, after, check_at=act.until)


def poll_message(task: Task) -> TaskMessage:
    """The poll of the generation that the task waits for, to be sent after `commit_look`."""
    return TaskMessage(
        task_id=task.id,
        job_id=task.job_id,
        step_type=POLL_STEP,
        attempt=task.attempt,
        poll_generation=(task.render or Render()).poll_generation,
    )


def commit_resend(act: RenderAct, task: Task, *, now: datetime) -> Commit:
    """RESEND: the same attempt again, neither an attempt nor a reap spent."""
    after = enqueue(task, now).replace(resends=task.resends + 1)
    return _one(act, task, after)


def commit_requeue(act: RenderAct, task: Task, job: Job, *, now: datetime) -> Commit:
    """REAP, SUBMIT: a new attempt, whose worker stores a fresh uid before it submits (§2.4).

    Under a job that is not processing the task waits for its job and nothing is sent (§1.5).
    """
    counted = act.kind is RenderActKind.REAP and act.counted
    freed = task.replace(render=_without_submission(task, act), reap_count=task.reap_count + counted)
    if job.status is not JobStatus.PROCESSING:
        commit = leave_running(freed, by=By.RENDER_RECOVERY, act=str(act.kind), reason=act.reason)
        return replace(commit, tasks=(replace(commit.tasks[0], before=task),))
    after = enqueue(freed.replace(status=TaskStatus.QUEUED, queued_at=now, lease=None), now)
    return _one(act, task, after.replace(attempt=task.attempt + 1))


def commit_adoption(
    act: RenderAct,
    task: Task,
    job: Job,
    *,
    successors: Iterable[Task],
    dependencies: Mapping[str, TaskStatus],
    other_open_tasks: bool,
    now: datetime,
) -> Completed:
    """ADOPT: complete the task with the output that is there. The arguments are those of `decide_completion`."""
    known = task.replace(render=act.render or task.render)
    completed = decide_completion(
        known,
        job,
        output_key=act.output_key,
        successors=successors,
        dependencies=dependencies,
        other_open_tasks=other_open_tasks,
        now=now,
    )
    first, *others = completed.commit.tasks
    changes = (replace(first, before=task, reason=act.reason), *others)
    commit = replace(completed.commit, by=By.RENDER_RECOVERY, act=str(act.kind), tasks=changes)
    return Completed(commit, completed.queued)


def commit_strand(
    act: RenderAct, task: Task, job: Job, *, queued_siblings: Iterable[Task], dependants: Iterable[Task], now: datetime
) -> Commit:
    """STRAND: the task fails (or is dead) as `stranded_pipeline`, and its job with it."""
    error = task_error(
        task, failure_class=FailureClass.STRANDED_PIPELINE, code="render_stranded", message=act.reason, now=now
    )
    return decide_end(
        task,
        job,
        status=act.ends_as,
        error=error,
        by=By.RENDER_RECOVERY,
        act=str(act.kind),
        queued_siblings=queued_siblings,
        dependants=dependants,
        now=now,
        needs_person=act.ends_as is TaskStatus.DEAD,
        render=_with_outcome(act.render or task.render, act.outcome),
    )


def _without_submission(task: Task, act: RenderAct) -> Render | None:
    """The history stays, the submission goes: an attempt without a uid has not been submitted."""
    render = _with_outcome(act.render or task.render, act.outcome)
    if render is None:
        return None
    return Render(poll_generation=render.poll_generation, attempts=render.attempts)


def _with_outcome(render: Render | None, outcome: str | None) -> Render | None:
    if render is None or outcome is None or not render.attempts:
        return render
    *earlier, last = render.attempts
    attempts = [*earlier, last.model_copy(update={"outcome": outcome})]
    return render.model_copy(update={"attempts": attempts})


def _one(act: RenderAct, before: Task, after: Task, *, check_at: datetime | None = None) -> Commit:
    return Commit(
        by=By.RENDER_RECOVERY,
        act=str(act.kind),
        correlation_id=before.correlation_id,
        tasks=(TaskChange(before, after, act.reason, check_at=check_at),),
    )
