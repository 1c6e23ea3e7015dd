"""Dispatch's writes: one transaction for each job, fenced by its status, the epoch and `paused` (§3.9)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from mos.domain.changes import Commit
from mos.domain.dispatching import WITHOUT_SLOT, decide_cancellation, decide_start
from mos.domain.errors import AppError, ConflictError, PipelineStateError
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Job, JobStatus, Task
from mos.domain.policy import Policy
from mos.missions.base import ActResult, Outcome
from mos.missions.observing import unreadable
from mos.missions.sending import Sender
from mos.store.config import DISPATCH, PRODUCTION, parse_production
from mos.store.documents import UnreadableRecord
from mos.store.gateway import Gateway, Reader
from mos.store.queries import tasks_of_job


class DispatchKind(StrEnum):
    """What is to be done with one job."""

    START = "start"
    CANCEL = "cancel"


@dataclass(frozen=True)
class DispatchAct:
    """One act on one job."""

    kind: DispatchKind
    job: Job
    reason: str


@dataclass(frozen=True, kw_only=True)
class DispatchActs:
    """Carries out single acts. `epoch`: of this run; starts need it.

    What it could not do for a reason that no retry can mend goes to `set_aside`:
    it is tried again when a slot is free, so until `look_again` no absence of it says anything.
    """

    gateway: Gateway
    sender: Sender
    policy: Policy
    epoch: int | None
    look_again: datetime
    set_aside: list[Sighting] = field(default_factory=list)

    def perform(self, act: DispatchAct) -> ActResult:
        """Do one act.

        Raises:
            ConflictError: overtaken; nothing was changed.
            AppError: it failed; the next tick finds the job again.
        """
        try:
            return self._cancel(act) if act.kind is DispatchKind.CANCEL else self._start(act)
        except UnreadableRecord as error:
            self._set_aside(unreadable(error))
            raise
        except PipelineStateError as error:
            evidence = {"problem": error.message}
            self._set_aside(Sighting(FindingCode.UNREADABLE_RECORD, f"jobs/{act.job.id}", evidence))
            raise

    def _set_aside(self, sighting: Sighting) -> None:
        self.set_aside.append(replace(sighting, until=self.look_again))

    def _start(self, act: DispatchAct) -> ActResult:
        queued = self.gateway.transact(lambda reader: self._started(reader, act.job)).value
        unsent = 0
        for task in queued:
            try:
                self.sender.send(task)
            except AppError:
                unsent += 1  # the outbox says so, and the task's mission sends it
        detail = f"{len(queued)} tasks queued" + (f", {unsent} left to the reaper to send" if unsent else "")
        return ActResult(str(act.kind), act.job.id, act.reason, Outcome.DONE, detail)

    def _started(self, reader: Reader, seen: Job) -> tuple[Commit, list[Task]]:
        job = reader.job(seen.id)
        if job is None or job.status is not JobStatus.PENDING:
            raise ConflictError(f"it is {job.status if job else 'gone'} now")
        if (reader.raw(DISPATCH) or {}).get("epoch") != self.epoch:
            raise ConflictError("a newer run of dispatch has taken over")
        paused, _ = parse_production(reader.raw(PRODUCTION) or {}) if job.kind not in WITHOUT_SLOT else (False, 0)
        if paused:
            raise ConflictError("production was paused meanwhile")
        commit = decide_start(job, reader.query(tasks_of_job(job.id), Task), now=reader.now)
        return commit, [change.after for change in commit.tasks]

    def _cancel(self, act: DispatchAct) -> ActResult:
        count, broken = self.gateway.transact(lambda reader: self._cancelled(reader, act.job)).value
        for error in broken:
            self._set_aside(unreadable(error))
        detail = f"{count} tasks cancelled" + (f", {len(broken)} could not be read" if broken else "")
        return ActResult(str(act.kind), act.job.id, act.reason, Outcome.DONE, detail)

    def _cancelled(self, reader: Reader, seen: Job) -> tuple[Commit, tuple[int, list[UnreadableRecord]]]:
        job = reader.job(seen.id)
        if job is None or job.status is not JobStatus.CANCELLED:
            raise ConflictError(f"it is {job.status if job else 'gone'} now")
        broken: list[UnreadableRecord] = []
        tasks = reader.query(tasks_of_job(job.id), Task, unreadable=broken)
        later = reader.now + self.policy.timings.worker_silent if broken else None
        commit = decide_cancellation(job, tasks, look_again=later)
        return commit, (len(commit.tasks), broken)


def describe(act: DispatchAct) -> tuple[str, str, str]:
    """(kind, subject, reason)."""
    return str(act.kind), act.job.id, act.reason
