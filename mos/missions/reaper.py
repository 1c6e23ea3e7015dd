"""The reaper (§3.2): brings back tasks whose worker or message was lost, and leaves what is merely late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from google.cloud import firestore

from mos.clients.notifier import Notifier
from mos.clients.sqs import Queues
from mos.domain.claims import OwnerState
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
)
from mos.domain.transitions import By
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Passes, Report
from mos.missions.notifying import send_notifications
from mos.missions.observing import Due, due_tasks, read_all
from mos.missions.queue_states import QueueReader
from mos.missions.reaper_acts import ReaperActs
from mos.missions.sending import Sender
from mos.runtime import Runtime
from mos.store.config import read_production
from mos.store.documents import UnreadableRecord, read
from mos.store.findings import report as report_findings
from mos.store.gateway import Gateway
from mos.store.missions import read_heartbeats, stamp_finished, stamp_started
from mos.store.queries import workers_seen_since
from mos.store.rearming import SeenTask

NAME = "reaper"


@dataclass(frozen=True)
class Seen:
    """One tick's observations, with what fences the acts."""

    now: datetime
    observations: ReaperObservations
    tasks: dict[str, SeenTask]


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
        """Read what is due; queues and owners only when something is suspicious."""
        now = read_production(self.client).now
        running = self._due("running pass", TaskStatus.RUNNING, now)
        queued = self._due("queued pass", TaskStatus.QUEUED, now)
        suspicious = [*running.tasks, *(task for task in queued.tasks if not task.unsent)]
        steps = {task.step_type: self.policy.pipeline.steps.get(task.step_type) for task in suspicious}
        reader = QueueReader(client=self.client, queues=self.queues, runtime=self.runtime)
        observations = ReaperObservations(
            running=running.tasks,
            queued=queued.tasks,
            queues=self.passes.attempt(
                "queues", lambda: reader.read([step for step in steps.values() if step is not None]), {}
            ),
            owners=self.passes.attempt("owners", lambda: self._owners(running.tasks), {}),
            dead_letters=self.passes.attempt("dead letters", self._dead_letters, {}),
            workers_seen=not suspicious or self.passes.attempt("workers", lambda: self._workers_seen(now), True),
            unreadable=(*running.unreadable, *queued.unreadable),
        )
        return Seen(now, observations, {seen.task.id: seen for seen in (*running.seen, *queued.seen)})

    def decide(self, observed: Seen) -> Plan:
        """The pure decision of `mos.domain.reaping`."""
        decided = decide_reaping(observed.observations, now=observed.now, limits=self.limits, policy=self.policy)
        return Plan(decided, observed)

    def act(self, plan: Plan) -> Sequence[ActResult]:
        """Each act in its own fenced transaction; then the outbox of notifications."""
        sender = Sender(queues=self.queues, gateway=self.gateway, policy=self.policy, by=By.REAPER)
        acts = ReaperActs(client=self.client, gateway=self.gateway, sender=sender, seen=plan.seen.tasks)
        results = carry_out(plan.acts, acts.perform, _describe, self.runtime, width=self.width)
        none: list[ActResult] = []
        return results + self.passes.attempt(
            "notifications", lambda: send_notifications(self.client, self.notifier, plan.seen.now), none
        )

    def report(self, plan: Plan, results: Sequence[ActResult]) -> Report:
        """Findings, then the heartbeat, whatever failed before."""
        complete = not self.passes.failed
        sightings = plan.decided.sightings
        self.passes.attempt("findings", lambda: self._report(sightings, plan.seen.now, complete=complete), 0)
        notes = [f"{plan.decided.deferred} over the limit wait for the next tick"] if plan.decided.deferred else []
        notes += [f"{sighting.code} {sighting.subject}" for sighting in sightings]
        notes += [f"pass failed: {name}: {problem}" for name, problem in self.passes.failed.items()]
        report = Report(self.name, tuple(results), tuple(notes), tuple(self.passes.failed))
        stamp_finished(self.client, self.name, self.run_id, report.summary)
        return report

    def _report(self, sightings: Sequence[Sighting], now: datetime, *, complete: bool) -> int:
        return report_findings(
            self.client, sightings, seen_by=self.name, pass_id=self.run_id, now=now, complete=complete
        )

    def _due(self, name: str, status: TaskStatus, now: datetime) -> Due:
        read_page = lambda: due_tasks(self.client, By.REAPER, status, now, self.limits.page)  # noqa: E731
        return self.passes.attempt(name, read_page, Due())

    def _owners(self, running: Sequence[Task]) -> dict[str, OwnerState]:
        owners = sorted({task.lease.owner for task in running if task.lease is not None})
        references = [self.client.collection("workers").document(owner) for owner in owners]
        states = {}
        for snapshot in self.client.get_all(references) if references else ():
            try:
                record = read(WorkerRecord, snapshot)
            except UnreadableRecord:
                continue  # an owner whose record says nothing is simply not known to have stopped
            if record is not None and record.stopped_at is not None:
                states[record.id] = OwnerState.STOPPED
        return states

    def _dead_letters(self) -> dict[str, int]:
        names = [step.dead_letter_queue for step in self.policy.pipeline.steps.values()]
        return {name: self.queues.depth(name).total for name in names}

    def _workers_seen(self, now: datetime) -> bool:
        return bool(read_all(self.client, workers_seen_since(now - self.policy.timings.worker_silent)))


def _describe(act: ReapAct) -> tuple[str, str, str]:
    return str(act.kind), act.task.id, act.reason


__all__ = ["NAME", "ReapKind", "Reaper", "ReaperLimits"]
