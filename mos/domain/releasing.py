"""Giving a task back unharmed: drain-reset and the hand-over before SQS's 12 hours (§2.2, §2.1 rule 4)."""

from __future__ import annotations

from datetime import datetime

from mos.domain.changes import Commit, TaskChange
from mos.domain.failing import leave_running
from mos.domain.model import Job, JobStatus, Send, SendState, Task, TaskStatus
from mos.domain.transitions import By


def decide_release(task: Task, job: Job, *, reason: str, now: datetime, fresh_message: bool) -> Commit:
    """`running → queued`, attempt unchanged, no failure and no reap counted. The task passed its fence.

    `fresh_message`: a new message of the same attempt has to be sent (the old
    one is at its last permitted receive), so the outbox says `unsent`.
    """
    if job.status is not JobStatus.PROCESSING:
        return leave_running(task, by=By.WORKER, act="drain", reason=reason)
    state = SendState.UNSENT if fresh_message else SendState.SENT
    after = task.replace(
        status=TaskStatus.QUEUED,
        lease=None,
        queued_at=now,
        not_before=None,
        send=Send(state=state, at=now, message_id=None if fresh_message else task.send.message_id),
    )
    return Commit(
        by=By.WORKER, act="drain", correlation_id=task.correlation_id, tasks=(TaskChange(task, after, reason),)
    )
