"""The reaper's writes: each re-checks what was observed, in the transaction that changes it (law 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from google.cloud import firestore

from mos import logs
from mos.domain import budgets
from mos.domain.changes import Commit, TaskChange
from mos.domain.ending import back_to_pending, decide_end, task_error
from mos.domain.errors import AppError, ConflictError, FailureClass, PipelineStateError, QueueError
from mos.domain.failing import leave_running
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Job, JobStatus, Send, SendState, Task, TaskError, TaskStatus
from mos.domain.policy import Policy
from mos.domain.reaping import ReapAct, ReapKind
from mos.domain.transitions import By
from mos.missions.base import ActResult, Outcome
from mos.missions.observing import unreadable
from mos.missions.sending import Sender
from mos.store.documents import UnreadableRecord
from mos.store.events import JobError, record_job_error
from mos.store.gateway import Gateway, Reader
from mos.store.queries import queued_of_job
from mos.store.rearming import rearm

WAITS = "its job is not processing: it waits for it"
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ReaperActs:
    """Carries out single acts. `written_at`, the last write of each task, fences the re-armings.

    What no retry can mend (its job cannot be read, is not there, a law refuses)
    goes to `set_aside`, and its task leaves the head of the query for a while:
    it keeps nobody else from being looked at.
    """

    client: firestore.Client
    gateway: Gateway
    sender: Sender
    policy: Policy | None = None
    now: datetime | None = None
    written_at: Mapping[str, datetime] = field(default_factory=dict)
    set_aside: list[Sighting] = field(default_factory=list)

    def perform(self, act: ReapAct) -> ActResult:
        """Do one act.

        Raises:
            ConflictError: overtaken; nothing was changed.
            AppError: it failed; the next tick finds the task again.
        """
        try:
            return self._perform(act)
        except (UnreadableRecord, PipelineStateError) as error:
            return self._aside(act, error)

    def _perform(self, act: ReapAct) -> ActResult:
        match act.kind:
            case ReapKind.LEAVE:
                return self._leave(act)
            case ReapKind.SEND:
                return self._send(act, self.gateway.transact(lambda reader: self._unsent(reader, act)).value)
            case ReapKind.RESEND:
                return self._deliver(act, self.gateway.transact(lambda reader: self._resend(reader, act)).value)
            case ReapKind.REAP:
                return self._deliver(act, self.gateway.transact(lambda reader: self._back(reader, act)).value)
            case ReapKind.STRAND:
                error = self.gateway.transact(lambda reader: self._strand(reader, act)).value
                record_job_error(self.client, _event(act.task, error))
                return _done(act)

    def _leave(self, act: ReapAct) -> ActResult:
        if act.until is None or not self._rearm(act.task, act.until):
            raise ConflictError("it changed meanwhile")
        return _done(act, f"until {act.until:%H:%M:%S} UTC")

    def _rearm(self, task: Task, until: datetime) -> bool:
        seen_at = self.written_at.get(task.id)
        return seen_at is not None and rearm(self.client, task.id, seen_at=seen_at, until=until)

    def _aside(self, act: ReapAct, error: UnreadableRecord | PipelineStateError) -> ActResult:
        """Nobody can act on it until a person has mended what is wrong: say so, and let the others come."""
        until = self._postpone(act, self.policy.pickup(act.task) if self.policy else None)
        if isinstance(error, UnreadableRecord):
            path, problem = error.path, error.problem
        else:
            path = f"jobs/{act.task.job_id}" if error.code == "no_job" else f"tasks/{act.task.id}"
            problem = error.message
        evidence = {"problem": problem, "task": act.task.id}
        self.set_aside.append(Sighting(FindingCode.UNREADABLE_RECORD, path, evidence, until))
        log.warning("set aside until somebody mends it", act=str(act.kind), task=act.task.id, problem=problem)
        return ActResult(str(act.kind), act.task.id, act.reason, Outcome.FAILED, problem)

    def _postpone(self, act: ReapAct, rest: timedelta | None) -> datetime | None:
        """Leave a task whose act failed until later; None where that could not be written."""
        if self.now is None or rest is None:
            return None
        try:
            return self.now + rest if self._rearm(act.task, self.now + rest) else None
        except AppError as error:
            log.warning("it stays at the head of the query", task=act.task.id, problem=error.message)
            return None

    def _send(self, act: ReapAct, task: Task) -> ActResult:
        if task.status is not TaskStatus.QUEUED:
            return _done(act, WAITS)
        try:
            marked = self.sender.send(task)
        except QueueError:
            # Past the next tick: the messages of one broken queue must not take every act of every tick.
            timings = self.policy.timings if self.policy else None
            self._postpone(act, timings.visibility + timings.unsent_grace if timings else None)
            raise
        return _done(act, "sent" if marked else "sent; it moved on at once")

    def _deliver(self, act: ReapAct, task: Task) -> ActResult:
        """The message of a commit that was made: if it cannot go out now, the outbox says so."""
        if task.status is not TaskStatus.QUEUED:
            return _done(act, WAITS)
        try:
            marked = self.sender.send(task)
        except AppError as error:
            return _done(act, f"its message waits for the next tick: {error.message}")
        return _done(act, "sent" if marked else "sent; it moved on at once")

    def _unsent(self, reader: Reader, act: ReapAct) -> tuple[Commit | None, Task]:
        """The outbox entry as it stands now: somebody may have sent it since."""
        current, job = _pair(reader, act)
        return (None, current) if job.status is JobStatus.PROCESSING else _waits(current, act)

    def _resend(self, reader: Reader, act: ReapAct) -> tuple[Commit, Task]:
        current, job = _pair(reader, act)
        if job.status is not JobStatus.PROCESSING:
            return _waits(current, act)
        after = current.replace(
            queued_at=reader.now, send=Send(state=SendState.UNSENT, at=reader.now), resends=current.resends + 1
        )
        return _commit(current, after, "resend", act.reason), after

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

    def _strand(self, reader: Reader, act: ReapAct) -> tuple[Commit, TaskError]:
        current, job = _pair(reader, act)
        broken: list[UnreadableRecord] = []
        siblings = reader.query(queued_of_job(job.id), Task, unreadable=broken)
        self.set_aside.extend(unreadable(one) for one in broken)
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
            queued_siblings=siblings,
            dependants=[task for task in reader.all(Task, current.next) if task is not None],
            now=reader.now,
            needs_person=dead,
        )
        return commit, error


def _waits(current: Task, act: ReapAct) -> tuple[Commit, Task]:
    """Queued under a job that is not processing: the next attempt waits for its job, and nothing is sent (§1.5)."""
    change = back_to_pending(current, act.reason)
    commit = Commit(by=By.REAPER, act="wait", correlation_id=current.correlation_id, tasks=(change,))
    return commit, change.after


def _event(task: Task, error: TaskError) -> JobError:
    return JobError(
        site=(task.id, str(task.attempt), str(task.executions), error.code),
        failure_class=error.failure_class,
        code=error.code,
        message=error.message,
        step=task.step_type,
        task_id=task.id,
        job_id=task.job_id,
        attempt=task.attempt,
        correlation_id=task.correlation_id,
    )


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
