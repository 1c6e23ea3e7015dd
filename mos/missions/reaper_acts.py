"""The reaper's writes: each re-checks what was observed, in the transaction that changes it (law 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from google.cloud import firestore

from mos.domain import budgets
from mos.domain.changes import Commit, TaskChange
from mos.domain.ending import decide_end, task_error
from mos.domain.errors import ConflictError, FailureClass, PipelineStateError
from mos.domain.failing import leave_running
from mos.domain.model import Job, JobStatus, Send, SendState, Task, TaskStatus
from mos.domain.reaping import ReapAct, ReapKind
from mos.domain.transitions import By
from mos.missions.base import ActResult, Outcome
from mos.missions.sending import Sender
from mos.store.gateway import Gateway, Reader
from mos.store.queries import queued_of_job
from mos.store.rearming import SeenTask, rearm


@dataclass(frozen=True, kw_only=True)
class ReaperActs:
    """Carries out single acts. `seen` fences the re-armings by their last write."""

    client: firestore.Client
    gateway: Gateway
    sender: Sender
    seen: Mapping[str, SeenTask] = field(default_factory=dict)

    def perform(self, act: ReapAct) -> ActResult:
        """Do one act.

        Raises:
            ConflictError: overtaken; nothing was changed.
            AppError: it failed; the next tick finds the task again.
        """
        match act.kind:
            case ReapKind.LEAVE:
                return self._leave(act)
            case ReapKind.SEND:
                return self._send(act, self._fresh(act))
            case ReapKind.RESEND:
                return self._send(act, self.gateway.transact(lambda reader: self._resend(reader, act)).value)
            case ReapKind.REAP:
                return self._reap(act)
            case ReapKind.STRAND:
                self.gateway.transact(lambda reader: self._strand(reader, act))
                return _done(act)

    def _leave(self, act: ReapAct) -> ActResult:
        seen = self.seen.get(act.task.id)
        if seen is None or act.until is None:
            raise PipelineStateError(f"task {act.task.id} was not observed in this tick")
        if not rearm(self.client, seen, act.until):
            raise ConflictError("it changed meanwhile")
        return _done(act, f"until {act.until:%H:%M:%S} UTC")

    def _send(self, act: ReapAct, task: Task) -> ActResult:
        marked = self.sender.send(task)
        return _done(act, "sent" if marked else "sent; it moved on at once")

    def _fresh(self, act: ReapAct) -> Task:
        """The outbox entry as it stands now: somebody may have sent it since."""
        return self.gateway.transact(lambda reader: (None, _same(reader.task(act.task.id), act))).value

    def _resend(self, reader: Reader, act: ReapAct) -> tuple[Commit, Task]:
        current, _ = _pair(reader, act)
        after = current.replace(
            queued_at=reader.now, send=Send(state=SendState.UNSENT, at=reader.now), resends=current.resends + 1
        )
        return _commit(current, after, "resend", act.reason), after

    def _reap(self, act: ReapAct) -> ActResult:
        task = self.gateway.transact(lambda reader: self._back(reader, act)).value
        if task.status is not TaskStatus.QUEUED:
            return _done(act, "its job is not processing: it waits for it")
        return self._send(act, task)

    def _back(self, reader: Reader, act: ReapAct) -> tuple[Commit, Task]:
        current, job = _pair(reader, act)
        if job.status is not JobStatus.PROCESSING:
            commit = leave_running(current, by=By.REAPER, act="reap", reason=act.reason)
            return commit, commit.tasks[0].after
        after = current.replace(
            status=TaskStatus.QUEUED,
            attempt=current.attempt + 1,
            reap_count=current.reap_count + act.counted,
            lease=None,
            queued_at=reader.now,
            not_before=None,
            send=Send(state=SendState.UNSENT, at=reader.now),
            resends=0,
        )
        return _commit(current, after, "reap", act.reason), after

    def _strand(self, reader: Reader, act: ReapAct) -> tuple[Commit, None]:
        current, job = _pair(reader, act)
        dead = act.ends_as is TaskStatus.DEAD
        error = task_error(
            current,
            failure_class=budgets.class_when_spent(current.error) if dead else FailureClass.STRANDED_PIPELINE,
            code="executions_spent" if dead else "stranded",
            message=f"{current.step_type}: {act.reason}",
            now=reader.now,
        )
        commit = decide_end(
            current,
            job,
            status=act.ends_as,
            error=error,
            by=By.REAPER,
            act="strand",
            queued_siblings=reader.query(queued_of_job(job.id), Task),
            dependants=[task for task in reader.all(Task, current.next) if task is not None],
            now=reader.now,
            needs_person=dead,
        )
        return commit, None


def _pair(reader: Reader, act: ReapAct) -> tuple[Task, Job]:
    task, job = reader.task_and_job(act.task.id, act.task.job_id)
    current = _same(task, act)
    if job is None:
        raise PipelineStateError(f"job {current.job_id} of task {current.id} does not exist", code="no_job")
    return current, job


def _same(current: Task | None, act: ReapAct) -> Task:
    """The fence: status, attempt, lease (a renewal changes it) and outbox are as observed.

    Raises:
        ConflictError: they are not.
    """
    seen = act.task
    if current is None:
        raise ConflictError("the task is gone")
    if current.status is not seen.status or current.attempt != seen.attempt:
        raise ConflictError(f"it is {current.status}, attempt {current.attempt} now")
    if current.lease != seen.lease:
        raise ConflictError("its lease was renewed or taken over")
    if (current.send.state, current.queued_at, current.resends) != (seen.send.state, seen.queued_at, seen.resends):
        raise ConflictError("its message was sent meanwhile")
    return current


def _commit(before: Task, after: Task, act: str, reason: str) -> Commit:
    change = TaskChange(before, after, reason)
    return Commit(by=By.REAPER, act=act, correlation_id=before.correlation_id, tasks=(change,))


def _done(act: ReapAct, detail: str = "") -> ActResult:
    return ActResult(str(act.kind), act.task.id, act.reason, Outcome.DONE, detail)
