"""How an execution ends: persisted, failed, or given back; then, and only then, the message is dealt with.

Whatever the end, the heartbeat is stopped and joined before the message's
window is changed or the message deleted (§2.1 rule 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from mos import logs
from mos.domain.backoff import retry_delay
from mos.domain.completion import Fenced
from mos.domain.errors import AppError, FailureClass, StateStoreError, StorageError
from mos.domain.failing import FailedForGood, Failure, RetryLater, WaitsForJob
from mos.domain.model import Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.taxonomy import classify_error
from mos.runtime import Runtime
from mos.store.gateway import Gateway
from mos.workers.completing import Recorded, complete
from mos.workers.flight import Flight, Stop
from mos.workers.giving_up import GivingUp
from mos.workers.outbox import Outbox
from mos.workers.outcomes import Outcome
from mos.workers.reports import Reports
from mos.workers.work import Output, Work

COMMIT_TRIES = 5
"""Commits of one safe result before the message is left to come back."""
NOW = timedelta()
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The ends of executions, for one process."""

    gateway: Gateway
    policy: Policy
    runtime: Runtime
    outbox: Outbox
    giving_up: GivingUp
    reports: Reports
    work: Work

    def finish(self, flight: Flight, output: Output) -> Outcome:
        """Persist the result, then acknowledge. A commit that does not get through is no failure of the work."""
        for number in range(COMMIT_TRIES):
            if number:
                self.runtime.sleep(self.runtime.uniform(0.5, 1.0) * 2**number)
            try:
                with flight.undisturbed():
                    recorded = complete(self.gateway, flight, self.work.record(flight.task, output))
            except (StateStoreError, StorageError) as error:
                log.warning("the result is safe, its commit is tried again", problem=error.message, code=error.code)
                continue
            return self._finished(flight, recorded)
        return self.give_back(flight, "the state store could not be reached")

    def _finished(self, flight: Flight, recorded: Recorded | Fenced) -> Outcome:
        if isinstance(recorded, Fenced):
            log.info("fenced: the result is discarded", reason=recorded.reason)
            return Outcome.ABANDONED
        self.outbox.send(recorded.to_send)
        flight.delivery.delete()
        return Outcome.COMPLETED

    def interrupted(self, flight: Flight, stop: Stop) -> Outcome:
        """The handler stopped because it was asked to."""
        match stop:
            case Stop.LEASE_LOST:
                return Outcome.ABANDONED
            case Stop.TOO_LONG:
                ttl = flight.delivery.step.running_ttl
                text = f"{flight.task.step_type} ran more than four times its time-to-live of {ttl}"
                return self.fail(flight, Failure(FailureClass.STRANDED_PIPELINE, "ran_too_long", text))
            case Stop.HAND_OVER:
                return self.release(flight, "the receipt is about to expire", fresh_message=True)
            case Stop.DRAIN:
                return self._drained(flight)
        assert_never(stop)

    def _drained(self, flight: Flight) -> Outcome:
        if not flight.delivery.step.rerunnable:
            return Outcome.ABANDONED
        return self.release(flight, "the worker drains", fresh_message=flight.delivery.last_permitted)

    def failed(self, flight: Flight, error: AppError) -> Outcome:
        """The handler raised."""
        classified = classify_error(error, {"step": flight.task.step_type})
        return self.fail(flight, Failure(classified.failure_class, error.code, error.message))

    def fail(self, flight: Flight, failure: Failure) -> Outcome:
        """One commit first, then the message (§2.1 rule 8)."""
        flight.quiesce()
        try:
            decided = self.giving_up.fail(flight, failure)
        except StateStoreError as error:
            log.warning("the failure could not be recorded; the message comes back", problem=error.message)
            return Outcome.LEFT
        if isinstance(decided, Fenced):
            log.info("fenced: the failure is discarded", reason=decided.reason)
            return Outcome.ABANDONED
        self.reports.failure(flight, failure)
        match decided:
            case RetryLater():
                after = decided.commit.tasks[0].after
                self._bring_back(flight, after, decided.delay, fresh_message=decided.fresh_message)
                return Outcome.RETRY
            case FailedForGood() | WaitsForJob():
                flight.delivery.delete()
                return Outcome.FAILED
        assert_never(decided)

    def give_back(self, flight: Flight, reason: str) -> Outcome:
        """Not the work's fault: no failure is counted, and it comes back after a delay."""
        delay = retry_delay(flight.delivery.received.receive_count, self.policy.timings)
        return self.release(flight, reason, fresh_message=flight.delivery.last_permitted, delay=delay)

    def release(self, flight: Flight, reason: str, *, fresh_message: bool, delay: timedelta = NOW) -> Outcome:
        """`running → queued`, then the message: visible after `delay`, or replaced by a fresh one."""
        flight.quiesce()
        try:
            after = self.giving_up.release(flight, reason, fresh_message=fresh_message)
        except StateStoreError as error:
            log.warning("not released; the lease runs out", problem=error.message)
            return Outcome.LEFT
        if isinstance(after, Fenced):
            return Outcome.ABANDONED
        if after.status is TaskStatus.QUEUED:
            self._bring_back(flight, after, delay, fresh_message=fresh_message)
        else:
            flight.delivery.delete()
        return Outcome.RELEASED

    def _bring_back(self, flight: Flight, after: Task, delay: timedelta, *, fresh_message: bool) -> None:
        if fresh_message:
            self.outbox.replace(flight.delivery, after, delay, flight.correlation_id)
        else:
            flight.delivery.hide(delay)
