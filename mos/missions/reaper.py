"""The reaper (§3.2): brings back tasks whose worker or message was lost, and leaves what is merely late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.clients.notifier import Notifier
from mos.clients.sqs import Queues
from mos.domain.claims import OwnerState
from mos.domain.errors import StateStoreError
from mos.domain.findings import Sighting
from mos.domain.model import Task, TaskStatus, WorkerRecord
from mos.domain.policy import Policy
from mos.domain.reaping import (
    ReapAct,
    ReaperLimits,
    ReaperObservations,
    ReaperPlan,
    ReapKind,
    decide_reaping,
    owned,
)
from mos.domain.transitions import By
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Passes, Report
from mos.missions.heartbeats import Heart
from mos.missions.notifying import send_notifications
from mos.missions.observing import Found, find, read_all
from mos.missions.queue_states import QueueReader
from mos.missions.reaper_acts import ReaperActs
from mos.missions.rechecking import close_outdated
from mos.missions.sending import Sender
from mos.runtime import Runtime
from mos.store.config import read_production
from mos.store.documents import UnreadableRecord, read
from mos.store.findings import report as report_findings
from mos.store.gateway import Gateway
from mos.store.queries import tasks_due, workers_seen_since

NAME = "reaper"


@dataclass(frozen=True)
class Seen:
    """One tick's observations, with what fences the acts."""

    now: datetime
    observations: ReaperObservations
    written_at: dict[str, datetime]
    """The last write of each task."""
    whole: bool = True
    """Whether everything that is due was seen."""


@dataclass(frozen=True)
class Plan:
    """The decision, with the tick it belongs to."""

    decided: ReaperPlan
    seen: Seen

    @property
    def acts(self) -> tuple[ReapAct, ...]:
        return self.decided.acts

    def rows(self) -> list[dict[str, str]]:
        """The plan as a table."""
        return [{"act": str(act.kind), "subject": act.task.id, "why": act.reason} for act in self.acts]


@dataclass(kw_only=True)
class Reaper:
    """One run of the reaper. `width`: acts at a time."""

    client: firestore.Client
    gateway: Gateway
    queues: Queues
    notifier: Notifier
    policy: Policy
    runtime: Runtime
    run_id: str
    limits: ReaperLimits = field(default_factory=ReaperLimits)
    width: int = 8
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
        """Read what is due; queues and owners only when something is suspicious."""
        now = read_production(self.client).now
        running = self._due("running pass", TaskStatus.RUNNING, now)
        queued = self._due("queued pass", TaskStatus.QUEUED, now)
        suspicious = [*running.documents, *(task for task in queued.documents if not task.unsent)]
        steps = {task.step_type: self.policy.pipeline.steps.get(task.step_type) for task in suspicious}
        reader = QueueReader(client=self.client, queues=self.queues, runtime=self.runtime, passes=self.passes)
        observations = ReaperObservations(
            running=running.documents,
            queued=queued.documents,
            queues=reader.read([step for step in steps.values() if step is not None]),
            owners=self.passes.attempt("owners", lambda: self._owners(running.documents), {}),
            dead_letters=self._dead_letters(reader),
            workers_seen=not suspicious or self.passes.attempt("workers", lambda: self._workers_seen(now), True),
            unreadable=(*running.unreadable, *queued.unreadable),
        )
        written_at = {one.document.id: one.update_time for one in (*running.stored, *queued.stored)}
        return Seen(now, observations, written_at, whole=not (running.more or queued.more))

    def decide(self, observed: Seen) -> Plan:
        """The pure decision of `mos.domain.reaping`."""
        decided = decide_reaping(observed.observations, now=observed.now, limits=self.limits, policy=self.policy)
        return Plan(decided, observed)

    def act(self, plan: Plan) -> Sequence[ActResult]:
        """Each act in its own fenced transaction; then the outbox of notifications."""
        acts = ReaperActs(
            client=self.client,
            gateway=self.gateway,
            sender=Sender(queues=self.queues, gateway=self.gateway, policy=self.policy, by=By.REAPER),
            policy=self.policy,
            now=plan.seen.now,
            written_at=plan.seen.written_at,
            set_aside=self.set_aside,
        )
        results = carry_out(plan.acts, acts.perform, _describe, self.runtime, width=self.width)
        none: list[ActResult] = []
        return results + self.passes.attempt(
            "notifications",
            lambda: send_notifications(self.client, self.notifier, plan.seen.now, self.runtime),
            none,
        )

    def report(self, plan: Plan, results: Sequence[ActResult]) -> Report:
        """Findings, then the heartbeat, whatever failed before."""
        complete = plan.seen.whole and not plan.decided.deferred and not self.passes.failed
        sightings = [*plan.decided.sightings, *self.set_aside]
        now = plan.seen.now
        self.passes.attempt("findings", lambda: self._report(sightings, now, complete=complete), 0)
        self.passes.attempt("findings of workers", lambda: close_outdated(self.client, now), 0)
        notes = [f"{plan.decided.deferred} over the limit wait for the next tick"] if plan.decided.deferred else []
        notes += [f"{sighting.code} {sighting.subject}" for sighting in sightings]
        return self.heart.finished(results, notes)

    def _report(self, sightings: Sequence[Sighting], now: datetime, *, complete: bool) -> int:
        return report_findings(
            self.client, sightings, seen_by=self.name, pass_id=self.run_id, now=now, complete=complete
        )

    def _due(self, name: str, status: TaskStatus, now: datetime) -> Found[Task]:
        query = tasks_due(By.REAPER, status, now, self.limits.page)
        none: Found[Task] = Found()
        found = self.passes.attempt(name, lambda: find(self.client, query, Task, refuse=self._refuse), none)
        if found.hidden:
            self.passes.failed[name] = "too many documents that cannot be used hide what stands behind them; mend them"
        return found

    def _refuse(self, task: Task) -> str | None:
        return None if owned(task, self.policy) else f"checkBy: the reaper never owns a {task.step_type}"

    def _owners(self, running: Sequence[Task]) -> dict[str, OwnerState]:
        owners = sorted({task.lease.owner for task in running if task.lease is not None})
        references = [self.client.collection("workers").document(owner) for owner in owners if _is_id(owner)]
        try:
            snapshots = list(self.client.get_all(references)) if references else []
        except (google.GoogleAPICallError, google.RetryError) as error:
            raise StateStoreError(f"the owners of leases cannot be read: {error}") from error
        states = {}
        for snapshot in snapshots:
            try:
                record = read(WorkerRecord, snapshot)
            except UnreadableRecord:
                continue  # an owner whose record says nothing is simply not known to have stopped
            if record is not None and record.stopped_at is not None:
                states[record.id] = OwnerState.STOPPED
        return states

    def _dead_letters(self, reader: QueueReader) -> dict[str, int]:
        names = sorted({step.dead_letter_queue for step in self.policy.pipeline.steps.values()})
        depths = {name: reader.depth(name) for name in names}
        return {name: depth.total for name, depth in depths.items() if depth is not None}

    def _workers_seen(self, now: datetime) -> bool:
        return bool(read_all(self.client, workers_seen_since(now - self.policy.timings.worker_silent)))


def _describe(act: ReapAct) -> tuple[str, str, str]:
    return str(act.kind), act.task.id, act.reason


def _is_id(owner: str) -> bool:
    """Whether a document could have this id: one odd lease must not hide the other owners."""
    return bool(owner) and "/" not in owner


__all__ = ["NAME", "ReapKind", "Reaper", "ReaperLimits"]
