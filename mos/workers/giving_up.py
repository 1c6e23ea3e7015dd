"""The two other ways out of an execution, each one fenced commit: a failure (§2.1 rule 8) and a release (§2.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from mos.domain.backoff import retry_delay
from mos.domain.changes import Commit
from mos.domain.completion import Fenced, fence
from mos.domain.errors import PipelineStateError
from mos.domain.failing import FailedForGood, Failure, FailureDecision, decide_failure
from mos.domain.model import Job, Task
from mos.domain.policy import Policy
from mos.domain.releasing import decide_release
from mos.runtime import Runtime
from mos.store.gateway import Gateway, Reader
from mos.store.queries import queued_of_job
from mos.workers.claiming import dependants
from mos.workers.flight import Flight

D = TypeVar("D")


@dataclass(frozen=True, kw_only=True)
class GivingUp:
    """Failure and release for one process. `jitter` is the share of a delay that is added at random."""

    gateway: Gateway
    policy: Policy
    runtime: Runtime
    jitter: float = 0.0

    def fail(self, flight: Flight, failure: Failure) -> FailureDecision | Fenced:
        """Commit a failure of this execution.

        Raises:
            StateStoreError: nothing was written.
            UnknownOutcome: it may have been written.
        """
        receives = flight.delivery.received.receive_count
        share = self.runtime.uniform(0, self.jitter) if self.jitter else 0.0
        jitter = retry_delay(receives, self.policy.timings) * share

        def decide(reader: Reader, task: Task, job: Job) -> tuple[Commit, FailureDecision]:
            rule = partial(
                decide_failure, task, job, failure,
                receive_count=receives, jitter=jitter, now=reader.now, policy=self.policy,
            )  # fmt: skip
            decision = rule(queued_siblings=(), dependants=())
            if isinstance(decision, FailedForGood):
                siblings = reader.query(queued_of_job(job.id), Task)
                decision = rule(queued_siblings=siblings, dependants=dependants(reader, task))
            return decision.commit, decision

        return self._fenced(flight, decide)

    def release(self, flight: Flight, reason: str, *, fresh_message: bool) -> Task | Fenced:
        """Give the task back unharmed. The task as it is left.

        Raises:
            StateStoreError: nothing was written.
            UnknownOutcome: it may have been written.
        """

        def decide(reader: Reader, task: Task, job: Job) -> tuple[Commit, Task]:
            commit = decide_release(task, job, reason=reason, now=reader.now, fresh_message=fresh_message)
            return commit, commit.tasks[0].after

        return self._fenced(flight, decide)

    def _fenced(self, flight: Flight, decide: Callable[[Reader, Task, Job], tuple[Commit, D]]) -> D | Fenced:
        def body(reader: Reader) -> tuple[Commit | None, D | Fenced]:
            task, job = reader.task_and_job(flight.task.id, flight.task.job_id)
            refused = fence(task, token=flight.lease.token, attempt=flight.task.attempt)
            if task is None or refused is not None:
                return None, Fenced(refused or "the task is gone")
            if job is None:
                raise PipelineStateError(f"job {task.job_id} of task {task.id} does not exist", code="no_job")
            return decide(reader, task, job)

        return self.gateway.transact(body).value
