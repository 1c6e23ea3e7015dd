"""Dispatch (§3.9): cancelled jobs first, then pending jobs into the free slots. It alone obeys `paused`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from google.cloud import firestore

from mos.clients.sqs import Queues
from mos.domain.changes import Commit
from mos.domain.dispatching import decide_cancellation, decide_start, free_slots
from mos.domain.errors import AppError, ConflictError
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Job, JobStatus, Task
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Outcome, Passes, Report
from mos.missions.observing import read_all
from mos.missions.sending import Sender
from mos.runtime import Runtime
from mos.store.config import DISPATCH, PRODUCTION, Production, parse_production, read_production, take_epoch
from mos.store.documents import UnreadableRecord, read
from mos.store.findings import report as report_findings
from mos.store.gateway import Gateway, Reader
from mos.store.missions import read_heartbeats, stamp_finished, stamp_started
from mos.store.queries import Query, jobs_due, pending_jobs, processing_jobs, tasks_of_job

NAME = "dispatch"
WITHOUT_SLOT = frozenset({"voice_training"})
"""Kinds whose jobs hold no slot and are not held by `paused` (§2.5)."""
MAX_CANCELLED = 50


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


@dataclass(frozen=True)
class Seen:
    """One tick's observations. Lists are bounded; `processing` is the set of jobs that hold a slot."""

    production: Production
    cancelled: tuple[Job, ...]
    pending: tuple[Job, ...]
    processing: int
    unreadable: tuple[Sighting, ...]


@dataclass(frozen=True)
class Plan:
    """Cancellations, then starts, oldest first."""

    acts: tuple[DispatchAct, ...]
    seen: Seen

    def rows(self) -> list[dict[str, str]]:
        """The plan as a table."""
        return [{"act": str(act.kind), "subject": act.job.id, "why": act.reason} for act in self.acts]


@dataclass(kw_only=True)
class Dispatch:
    """One run of dispatch. `max_starts`: jobs in one tick."""

    client: firestore.Client
    gateway: Gateway
    queues: Queues
    policy: Policy
    runtime: Runtime
    run_id: str
    max_starts: int = 50
    name: str = NAME
    passes: Passes = field(default_factory=Passes)

    def superseded(self, scheduled: datetime) -> bool:
        """Another run started after this one was due."""
        beat = read_heartbeats(self.client).get(self.name)
        if beat is None or beat.last_started_at is None or beat.started_run == self.run_id:
            return False
        return beat.last_started_at > scheduled

    def started(self) -> None:
        """Stamp the heartbeat."""
        stamp_started(self.client, self.name, self.run_id)

    def observe(self) -> Seen:
        """The configuration, cancelled and pending jobs, and how many slots are held."""
        production = read_production(self.client)
        unreadable: list[Sighting] = []
        due = jobs_due(By.DISPATCH, JobStatus.CANCELLED, production.now, MAX_CANCELLED)
        none: list[Job] = []
        pending = none
        cancelled = self.passes.attempt("cancelled jobs", lambda: self._jobs(due, unreadable), none)
        processing = 0
        if not production.paused:
            waiting = pending_jobs(self.max_starts)
            pending = self.passes.attempt("pending jobs", lambda: self._jobs(waiting, unreadable), none)
            processing = self._processing() if pending else 0
        return Seen(production, tuple(cancelled), tuple(pending), processing, tuple(unreadable))

    def decide(self, observed: Seen) -> Plan:
        """Which jobs are cancelled and which start."""
        production = observed.production
        free = free_slots(
            processing=observed.processing,
            max_concurrent_jobs=production.max_concurrent_jobs,
            paused=production.paused,
        )
        acts = [DispatchAct(DispatchKind.CANCEL, job, "the job was cancelled") for job in observed.cancelled]
        starting = observed.pending[: min(free, self.max_starts)]
        acts += [DispatchAct(DispatchKind.START, job, "the oldest job for a free slot") for job in starting]
        return Plan(tuple(acts), observed)

    def act(self, plan: Plan) -> Sequence[ActResult]:
        """One transaction for each job, in order; then its messages."""
        cancels = [act for act in plan.acts if act.kind is DispatchKind.CANCEL]
        starts = [act for act in plan.acts if act.kind is DispatchKind.START]
        results = carry_out(cancels, self._cancel, _describe, self.runtime, width=1)
        if not starts:
            return results
        epoch = self.passes.attempt("epoch", lambda: take_epoch(self.client, self.runtime), None)
        if epoch is None:
            return results
        # Counted afresh under our epoch: an earlier run can start nothing from here on.
        free = plan.seen.production.max_concurrent_jobs - self.passes.attempt("slots", self._processing, 10**9)
        return results + carry_out(
            starts[: max(0, free)], lambda act: self._start(act, epoch), _describe, self.runtime, width=1
        )

    def report(self, plan: Plan, results: Sequence[ActResult]) -> Report:
        """Findings, then the heartbeat."""
        now, complete = plan.seen.production.now, not self.passes.failed
        self.passes.attempt(
            "findings",
            lambda: report_findings(
                self.client,
                plan.seen.unreadable,
                seen_by=self.name,
                pass_id=self.run_id,
                now=now,
                complete=complete,
            ),
            0,
        )
        notes = ["paused: nothing was started"] if plan.seen.production.paused else []
        notes += [f"pass failed: {name}: {problem}" for name, problem in self.passes.failed.items()]
        report = Report(self.name, tuple(results), tuple(notes), tuple(self.passes.failed))
        stamp_finished(self.client, self.name, self.run_id, report.summary)
        return report

    def _start(self, act: DispatchAct, epoch: int) -> ActResult:
        queued = self.gateway.transact(lambda reader: self._started(reader, act.job, epoch)).value
        sender = Sender(queues=self.queues, gateway=self.gateway, policy=self.policy, by=By.DISPATCH)
        unsent = 0
        for task in queued:
            try:
                sender.send(task)
            except AppError:
                unsent += 1  # the outbox says so, and the task's mission sends it
        detail = f"{len(queued)} tasks queued" + (f", {unsent} left to the reaper to send" if unsent else "")
        return ActResult(str(act.kind), act.job.id, act.reason, Outcome.DONE, detail)

    def _started(self, reader: Reader, seen: Job, epoch: int) -> tuple[Commit, list[Task]]:
        job = reader.job(seen.id)
        if job is None or job.status is not JobStatus.PENDING:
            raise ConflictError(f"it is {job.status if job else 'gone'} now")
        if (reader.raw(DISPATCH) or {}).get("epoch") != epoch:
            raise ConflictError("a newer run of dispatch has taken over")
        paused, _ = parse_production(reader.raw(PRODUCTION) or {})
        if paused:
            raise ConflictError("production was paused meanwhile")
        commit = decide_start(job, reader.query(tasks_of_job(job.id), Task), now=reader.now)
        return commit, [change.after for change in commit.tasks]

    def _cancel(self, act: DispatchAct) -> ActResult:
        def body(reader: Reader) -> tuple[Commit, int]:
            job = reader.job(act.job.id)
            if job is None or job.status is not JobStatus.CANCELLED:
                raise ConflictError(f"it is {job.status if job else 'gone'} now")
            commit = decide_cancellation(job, reader.query(tasks_of_job(job.id), Task))
            return commit, len(commit.tasks)

        count = self.gateway.transact(body).value
        return ActResult(str(act.kind), act.job.id, act.reason, Outcome.DONE, f"{count} tasks cancelled")

    def _processing(self) -> int:
        kinds = [kind for kind in self.policy.pipeline.kinds if kind not in WITHOUT_SLOT]
        return len(read_all(self.client, processing_jobs(kinds)))

    def _jobs(self, query: Query, unreadable: list[Sighting]) -> list[Job]:
        jobs = []
        for snapshot in read_all(self.client, query):
            try:
                job = read(Job, snapshot)
            except UnreadableRecord as error:
                unreadable.append(Sighting(FindingCode.UNREADABLE_RECORD, error.path, {"problem": error.problem}))
                continue
            jobs += [job] if job is not None else []
        return jobs


def _describe(act: DispatchAct) -> tuple[str, str, str]:
    return str(act.kind), act.job.id, act.reason
