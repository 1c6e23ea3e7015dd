"""The claim: one transaction that says whether this message may be worked on, and takes the lease if so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mos import logs
from mos.domain.changes import Commit
from mos.domain.claims import Claimant, ClaimDecision, Claimed, OwnerState, Spent, decide_claim
from mos.domain.ending import decide_end
from mos.domain.messages import TaskMessage
from mos.domain.model import Job, Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.transitions import By
from mos.runtime import Runtime
from mos.store.documents import UnreadableRecord
from mos.store.gateway import Gateway, Reader
from mos.store.leases import Anchor, HeldLease
from mos.store.queries import queued_of_job
from mos.workers.delivery import Delivery

log = logs.logger(__name__)


@dataclass(frozen=True)
class Claim:
    """The decision as committed. `lease` is there if it is ours; `task` is what was read (None: there is none)."""

    decision: ClaimDecision
    task: Task | None
    lease: HeldLease | None = None


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims for one process. `owner` is its boot id."""

    gateway: Gateway
    policy: Policy
    runtime: Runtime
    owner: str

    def claim(self, delivery: Delivery, message: TaskMessage, correlation_id: str) -> Claim:
        """Decide and commit.

        Raises:
            StateStoreError: not claimed, as far as is known.
            UnreadableRecord: the task or its job cannot be understood; nothing was written.
        """
        claimant = Claimant(owner=self.owner, token=self.runtime.new_id(), correlation_id=correlation_id)

        def body(reader: Reader) -> tuple[Commit | None, tuple[ClaimDecision, Task | None]]:
            task, job = reader.task_and_job(message.task_id, message.job_id)
            decision = decide_claim(
                message,
                task,
                job,
                owner_state=self._owner_state(reader, task),
                claimant=claimant,
                receive_count=delivery.received.receive_count,
                now=reader.now,
                policy=self.policy,
            )
            return self._commit(reader, decision, task, job), (decision, task)

        sent = self.runtime.monotonic()
        committed = self.gateway.transact(body)
        decision, task = committed.value
        if not isinstance(decision, Claimed):
            return Claim(decision, task)
        return Claim(decision, task, self._lease(decision.task, committed.at, sent))

    def _owner_state(self, reader: Reader, task: Task | None) -> OwnerState:
        """Asked only about a running task: whether its owner said that it stops."""
        if task is None or task.status is not TaskStatus.RUNNING or task.lease is None:
            return OwnerState.UNKNOWN
        try:
            owner = reader.worker(task.lease.owner)
        except UnreadableRecord as error:
            log.warning("the owner's record cannot be read", path=error.path, problem=error.problem)
            return OwnerState.UNKNOWN
        stopped = owner is not None and owner.stopped_at is not None
        return OwnerState.STOPPED if stopped else OwnerState.UNKNOWN

    def _commit(self, reader: Reader, decision: ClaimDecision, task: Task | None, job: Job | None) -> Commit | None:
        if isinstance(decision, Claimed):
            return decision.commit
        if not isinstance(decision, Spent) or task is None or job is None:
            return None
        return decide_end(
            task,
            job,
            status=decision.status,
            error=decision.error,
            by=By.WORKER,
            act="spent",
            queued_siblings=reader.query(queued_of_job(job.id), Task),
            dependants=dependants(reader, task),
            now=reader.now,
            needs_person=decision.needs_person,
        )

    def _lease(self, task: Task, at: datetime | None, sent: float) -> HeldLease:
        if task.lease is None or at is None:
            raise AssertionError("a claim is a commit with a lease")
        return HeldLease(
            task_id=task.id,
            attempt=task.attempt,
            token=task.lease.token,
            expires_at=task.lease.expires_at,
            update_time=at,
            anchor=Anchor(server_time=at, sent=sent, answered=self.runtime.monotonic()),
        )


def dependants(reader: Reader, task: Task) -> list[Task]:
    """The tasks right after this one."""
    return [found for found in reader.all(Task, task.next) if found is not None]
