"""Marking an outbox entry as sent (law 4), fenced on queued + attempt + unsent.

Idempotent: a mark that was never made is made by whoever sends next, after a
second message of the same attempt, which its claim refuses.
"""

from __future__ import annotations

from mos.domain.changes import Commit, TaskChange
from mos.domain.model import Send, SendState, Task
from mos.domain.transitions import By
from mos.store.gateway import Committed, Gateway, Reader

__all__ = ["mark_sent"]


def mark_sent(gateway: Gateway, task: Task, message_id: str, by: By) -> Committed[bool]:
    """Record that the message of this attempt was sent. False where the task has moved on."""

    def body(reader: Reader) -> tuple[Commit | None, bool]:
        current, _ = reader.task_and_job(task.id, task.job_id)
        if current is None or not current.unsent or current.attempt != task.attempt:
            return None, False
        after = current.replace(send=Send(state=SendState.SENT, at=reader.now, message_id=message_id))
        change = TaskChange(current, after, "its message was sent")
        commit = Commit(by=by, act="sent", correlation_id=task.correlation_id, tasks=(change,))
        return commit, True

    return gateway.transact(body)
