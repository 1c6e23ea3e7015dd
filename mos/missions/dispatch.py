"""Dispatch (§3.9): cancelled jobs first, then pending jobs into the free slots. It alone obeys `paused`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from google.cloud import firestore

from mos.clients.sqs import Queues
from mos.domain.dispatching import WITHOUT_SLOT, free_slots
from mos.domain.findings import Sighting
from mos.domain.model import Job, JobStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Outcome, Passes, Report
from mos.missions.dispatch_acts import DispatchAct, DispatchActs, DispatchKind, describe
from mos.missions.heartbeats import Heart
from mos.missions.observing import Found, find, read_all, unreadable
from mos.missions.sending import Sender
from mos.runtime import Runtime
from mos.store.config import Production, read_production, take_epoch
from mos.store.findings import report as report_findings
from mos.store.gateway import Gateway
from mos.store.queries import Query, jobs_due, pending_jobs, pending_jobs_of, processing_jobs

NAME = "dispatch"
MAX_CANCELLED = 50
MAX_STARTS = 50


@dataclass(frozen=True)
class Seen:
    """One tick's observations. Lists are bounded; `processing` is the number of jobs that hold a slot."""

    production: Production
    cancelled: tuple[Job, ...]
    free_of_slots: tuple[Job, ...]
    """Pending jobs of a kind that needs no slot."""
    pending: tuple[Job, ...]
    processing: int
    unreadable: tuple[Sighting, ...]
    whole: bool = True


@dataclass(frozen=True)
class Plan:
    """Cancellations, then starts, oldest first. `spare`: whose turn it is when one of them cannot be started."""

    acts: tuple[DispatchAct, ...]
    seen: Seen
    spare: tuple[DispatchAct, ...] = ()

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
    max_starts: int = MAX_STARTS
    name: str = NAME
    passes: Passes = field(default_factory=Passes)
    set_aside: list[Sighting] = field(default_factory=list)
    """What the acts found that no retry can mend."""

    @property
    def heart(self) -> Heart:
        """This run's heartbeat."""
        return Heart(self.client, self.name, self.run_id, self.passes)

    def superseded(self, scheduled: datetime) -> bool:
        """Another run started after this one was due."""
        return self.heart.superseded(scheduled)

    def started(self) -> None:
        """Stamp the heartbeat."""
        self.heart.started()

    def observe(self) -> Seen:
        """The configuration, cancelled and pending jobs, and how many slots are held."""
        production = read_production(self.client)
        due = jobs_due(By.DISPATCH, JobStatus.CANCELLED, production.now, MAX_CANCELLED)
        cancelled = self._jobs("cancelled jobs", due)
        free = self._jobs("jobs without slot", pending_jobs_of(WITHOUT_SLOT, self.max_starts))
        waiting: Found[Job] = Found()
        if not production.paused:
            waiting = self._jobs("pending jobs", pending_jobs(self.max_starts))
        pending = tuple(job for job in waiting.documents if job.kind not in WITHOUT_SLOT)
        broken = [unreadable(production.problem)] if production.problem is not None else []
        return Seen(
            production,
            cancelled.documents,
            free.documents,
            pending,
            self._processing() if pending else 0,
            (*broken, *cancelled.unreadable, *free.unreadable, *waiting.unreadable),
            whole=not (cancelled.more or free.more or waiting.more),
        )

    def decide(self, observed: Seen) -> Plan:
        """Which jobs are cancelled and which start."""
        production = observed.production
        free = free_slots(
            processing=observed.processing,
            max_concurrent_jobs=production.max_concurrent_jobs,
            paused=production.paused,
        )
        acts = [DispatchAct(DispatchKind.CANCEL, job, "the job was cancelled") for job in observed.cancelled]
        acts += [DispatchAct(DispatchKind.START, job, "its kind needs no slot") for job in observed.free_of_slots]
        starts = [DispatchAct(DispatchKind.START, job, "the oldest job for a free slot") for job in observed.pending]
        return Plan((*acts, *starts[:free]), observed, spare=tuple(starts[free:]) if free else ())

    def act(self, plan: Plan) -> Sequence[ActResult]:
        """One transaction for each job, in order; then its messages."""
        cancels = [act for act in plan.acts if act.kind is DispatchKind.CANCEL]
        starts = [act for act in plan.acts if act.kind is DispatchKind.START]
        results = carry_out(cancels, self._acts(plan, epoch=None).perform, describe, self.runtime, width=1)
        none: int | None = None
        epoch = self.passes.attempt("epoch", lambda: take_epoch(self.client, self.runtime), none) if starts else None
        if epoch is None:
            return results
        acts = self._acts(plan, epoch)
        free = [act for act in starts if act.job.kind in WITHOUT_SLOT]
        results += carry_out(free, acts.perform, describe, self.runtime, width=1)
        return results + self._start([act for act in (*starts, *plan.spare) if act not in free], acts, plan)

    def report(self, plan: Plan, results: Sequence[ActResult]) -> Report:
        """Findings, then the heartbeat."""
        now, complete = plan.seen.production.now, plan.seen.whole and not self.passes.failed
        sightings = [*plan.seen.unreadable, *self.set_aside]
        self.passes.attempt("findings", lambda: self._report(sightings, now, complete=complete), 0)
        notes = ["paused: nothing that needs a slot was started"] if plan.seen.production.paused else []
        notes += [f"{sighting.code} {sighting.subject}" for sighting in sightings]
        return self.heart.finished(results, notes)

    def _start(self, starts: Sequence[DispatchAct], acts: DispatchActs, plan: Plan) -> list[ActResult]:
        """Oldest first until the slots are taken: one that cannot be started leaves its slot to the next."""
        if not starts:
            return []
        # Counted afresh under our epoch: an earlier run can start nothing from here on.
        free = plan.seen.production.max_concurrent_jobs - self._processing()
        results: list[ActResult] = []
        for act in starts:
            if sum(result.outcome is not Outcome.FAILED for result in results) >= free:
                break
            results += carry_out([act], acts.perform, describe, self.runtime, width=1)
        return results

    def _acts(self, plan: Plan, epoch: int | None) -> DispatchActs:
        return DispatchActs(
            gateway=self.gateway,
            sender=Sender(queues=self.queues, gateway=self.gateway, policy=self.policy, by=By.DISPATCH),
            policy=self.policy,
            set_aside=self.set_aside,
            epoch=epoch,
            look_again=plan.seen.production.now + self.policy.timings.stalled_after,
        )

    def _processing(self) -> int:
        """The jobs that hold a slot; more than there can be where nobody could say."""
        return self.passes.attempt("slots", self._count, 10**9)

    def _count(self) -> int:
        found = read_all(self.client, processing_jobs())
        return sum((snapshot.to_dict() or {}).get("kind") not in WITHOUT_SLOT for snapshot in found)

    def _jobs(self, name: str, query: Query) -> Found[Job]:
        none: Found[Job] = Found()
        found = self.passes.attempt(name, lambda: find(self.client, query, Job), none)
        if found.hidden:
            self.passes.failed[name] = "too many documents that cannot be used hide what stands behind them; mend them"
        return found

    def _report(self, sightings: Sequence[Sighting], now: datetime, *, complete: bool) -> int:
        return report_findings(
            self.client, sightings, seen_by=self.name, pass_id=self.run_id, now=now, complete=complete
        )
