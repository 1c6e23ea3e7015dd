"""The transition tables (§1.4): the only status changes there are.

The gateway refuses whatever is not here, the docs' diagram is generated from
here, and a property test walks it. `completed` and `cancelled` are absorbing;
`failed` and `dead` leave only through production-retry's repair.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from mos.domain.model import JobStatus as J
from mos.domain.model import TaskStatus as T


class By(StrEnum):
    """Who may change a status."""

    PRODUCER = "producer"
    WORKER = "worker"
    REAPER = "reaper"
    RENDER_RECOVERY = "render-recovery"
    STALLED_JOBS = "stalled-jobs"
    PRODUCTION_RETRY = "production-retry"
    DISPATCH = "dispatch"
    OPERATOR = "operator"


class Fence(StrEnum):
    """What a transition must re-check in its own transaction (law 3)."""

    ABSENT = "the document does not exist"
    STATUS = "the status is as observed"
    ATTEMPT = "status and attempt are as observed"
    LEASE = "status, attempt and lease token are as observed"


S = TypeVar("S", bound=StrEnum)


@dataclass(frozen=True)
class Transition(Generic[S]):
    """One row: `before` None means creation; `supersedes` that a new attempt begins with it."""

    before: S | None
    after: S
    by: frozenset[By]
    fence: Fence
    supersedes: bool = False


def _row(before: S | None, after: S, fence: Fence, *by: By) -> Transition[S]:
    return Transition(before, after, frozenset(by), fence)


def _anew(before: S, after: S, fence: Fence, *by: By) -> Transition[S]:
    """What is still under way for the task belongs to an older attempt from here on."""
    return Transition(before, after, frozenset(by), fence, supersedes=True)


TASKS: tuple[Transition[T], ...] = (
    _row(None, T.PENDING, Fence.ABSENT, By.PRODUCER),
    _row(None, T.WAITING, Fence.ABSENT, By.PRODUCER),
    _row(None, T.QUEUED, Fence.ABSENT, By.WORKER),  # voice training: its claim creates the task
    _row(T.PENDING, T.QUEUED, Fence.STATUS, By.DISPATCH, By.STALLED_JOBS, By.RENDER_RECOVERY),
    _row(T.WAITING, T.QUEUED, Fence.STATUS, By.WORKER, By.DISPATCH, By.STALLED_JOBS, By.RENDER_RECOVERY),
    _row(T.QUEUED, T.RUNNING, Fence.ATTEMPT, By.WORKER),
    _row(T.QUEUED, T.QUEUED, Fence.ATTEMPT, By.REAPER, By.RENDER_RECOVERY),  # the same attempt sent again
    _row(T.RUNNING, T.RUNNING, Fence.LEASE, By.WORKER),  # taken over with a new token
    _row(T.RUNNING, T.COMPLETED, Fence.LEASE, By.WORKER, By.RENDER_RECOVERY),
    _row(T.RUNNING, T.QUEUED, Fence.LEASE, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _anew(T.RUNNING, T.PENDING, Fence.LEASE, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _row(T.RUNNING, T.FAILED, Fence.LEASE, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _row(T.RUNNING, T.DEAD, Fence.LEASE, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _row(T.QUEUED, T.FAILED, Fence.ATTEMPT, By.REAPER, By.RENDER_RECOVERY),
    _row(T.QUEUED, T.DEAD, Fence.ATTEMPT, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _anew(
        T.QUEUED,
        T.PENDING,
        Fence.ATTEMPT,
        By.WORKER,
        By.REAPER,
        By.RENDER_RECOVERY,
        By.STALLED_JOBS,
        By.PRODUCTION_RETRY,
        By.OPERATOR,
    ),
    _row(T.PENDING, T.FAILED, Fence.STATUS, By.STALLED_JOBS),
    _row(T.WAITING, T.FAILED, Fence.STATUS, By.STALLED_JOBS),
    _row(T.PENDING, T.CANCELLED, Fence.STATUS, By.DISPATCH),
    _row(T.WAITING, T.CANCELLED, Fence.STATUS, By.DISPATCH),
    _row(T.QUEUED, T.CANCELLED, Fence.STATUS, By.DISPATCH),
    _row(T.RUNNING, T.CANCELLED, Fence.STATUS, By.DISPATCH),
    _anew(T.FAILED, T.PENDING, Fence.ATTEMPT, By.PRODUCTION_RETRY, By.OPERATOR),
    _anew(T.FAILED, T.WAITING, Fence.ATTEMPT, By.PRODUCTION_RETRY, By.OPERATOR),
    _anew(T.DEAD, T.PENDING, Fence.ATTEMPT, By.PRODUCTION_RETRY, By.OPERATOR),
    _anew(T.DEAD, T.WAITING, Fence.ATTEMPT, By.PRODUCTION_RETRY, By.OPERATOR),
    _anew(T.QUEUED, T.WAITING, Fence.ATTEMPT, By.PRODUCTION_RETRY, By.OPERATOR),
)

JOBS: tuple[Transition[J], ...] = (
    _row(None, J.PENDING, Fence.ABSENT, By.PRODUCER),
    _row(None, J.PROCESSING, Fence.ABSENT, By.WORKER),  # voice training
    _row(J.PENDING, J.PROCESSING, Fence.STATUS, By.DISPATCH),
    # work that a retry kept running may fail for good before its job has a slot again
    _row(J.PENDING, J.FAILED, Fence.STATUS, By.WORKER, By.REAPER, By.RENDER_RECOVERY),
    _row(J.PROCESSING, J.COMPLETED, Fence.STATUS, By.WORKER, By.STALLED_JOBS, By.RENDER_RECOVERY),
    _row(J.PROCESSING, J.FAILED, Fence.STATUS, By.WORKER, By.REAPER, By.STALLED_JOBS, By.RENDER_RECOVERY),
    _row(J.FAILED, J.PENDING, Fence.STATUS, By.PRODUCTION_RETRY, By.OPERATOR),
    _row(J.PENDING, J.CANCELLED, Fence.STATUS, By.OPERATOR),
    _row(J.PROCESSING, J.CANCELLED, Fence.STATUS, By.OPERATOR),
    _row(J.FAILED, J.CANCELLED, Fence.STATUS, By.OPERATOR),
)

_TASK_INDEX = {(row.before, row.after): row for row in TASKS}
_JOB_INDEX = {(row.before, row.after): row for row in JOBS}


def task_transition(before: T | None, after: T) -> Transition[T] | None:
    """The row for a task's change of status, if it is legal at all."""
    return _TASK_INDEX.get((before, after))


def job_transition(before: J | None, after: J) -> Transition[J] | None:
    """The row for a job's change of status, if it is legal at all."""
    return _JOB_INDEX.get((before, after))


def diagram() -> str:
    """Both tables as a Mermaid state diagram, for the docs."""
    return "\n".join(["```mermaid", *_lines("Task", TASKS), "```", "", "```mermaid", *_lines("Job", JOBS), "```"])


def _lines(title: str, rows: tuple[Transition[T], ...] | tuple[Transition[J], ...]) -> list[str]:
    head = ["---", f"title: {title}", "---", "stateDiagram-v2"]
    return head + [f"    {row.before or '[*]'} --> {row.after}: {', '.join(sorted(row.by))}" for row in rows]
