"""The life of one message: claim, work, persist, stop the heartbeat, acknowledge (§2.1).

`Worker.handle` drives one delivery to its end in the calling thread. It knows
no thread, no loop and no signal: those are in `process.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from mos import logs
from mos.domain.backoff import retry_delay
from mos.domain.claims import Claimed, Drop, Later, Poison, Spent
from mos.domain.errors import AppError, LeaseLost, StateStoreError, ValidationError, classify_unknown
from mos.domain.messages import TaskMessage, parse_message
from mos.domain.policy import Policy
from mos.domain.text import clean
from mos.runtime import Runtime
from mos.store.documents import UnreadableRecord
from mos.workers.claiming import Claim, Claims
from mos.workers.context import Interrupted
from mos.workers.delivery import CORRELATION, Delivery
from mos.workers.ending import Ending
from mos.workers.flight import Flight, Flights, Stop
from mos.workers.outcomes import Outcome, Tally
from mos.workers.reports import Reports

DUPLICATE_JITTER = 0.1
"""Share of what is left of a lease that is added for a duplicate, so that duplicates do not return in step."""
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Handles deliveries whose visibility was extended already."""

    claims: Claims
    ending: Ending
    reports: Reports
    flights: Flights
    tally: Tally
    policy: Policy
    runtime: Runtime

    def handle(self, delivery: Delivery) -> Outcome:
        """Drive one delivery to its end. Raises nothing of ours: what goes wrong is logged and the message left."""
        given = clean(delivery.received.attributes.get(CORRELATION, ""), 128)
        correlation_id = given or self.runtime.new_id()
        with logs.bound(correlationId=correlation_id, messageId=delivery.received.message_id, step=delivery.step.name):
            outcome = self._parse(delivery, correlation_id)
            self.tally.count(outcome)
            log.info("handled", outcome=str(outcome), receives=delivery.received.receive_count)
            return outcome

    def _parse(self, delivery: Delivery, correlation_id: str) -> Outcome:
        try:
            message = parse_message(delivery.received.body, step=delivery.step.name)
        except ValidationError as error:
            self.reports.malformed(delivery, error, correlation_id)
            return Outcome.MALFORMED
        with logs.bound(taskId=message.task_id, jobId=message.job_id):
            try:
                return self._claim(delivery, message, correlation_id)
            except UnreadableRecord as error:
                self.reports.unreadable(delivery, error, correlation_id)
            except AppError as error:
                self.reports.internal(delivery, message, error, correlation_id)
            return Outcome.LEFT

    def _claim(self, delivery: Delivery, message: TaskMessage, correlation_id: str) -> Outcome:
        try:
            claim = self.claims.claim(delivery, message, correlation_id)
        except StateStoreError as error:
            log.warning("not claimed; it comes back", problem=error.message, code=error.code)
            delivery.come_back(retry_delay(delivery.received.receive_count, self.policy.timings), correlation_id)
            return Outcome.LEFT
        if isinstance(claim.decision, Claimed):
            return self._claimed(delivery, claim, correlation_id)
        return self._refused(delivery, claim, correlation_id)

    def _refused(self, delivery: Delivery, claim: Claim, correlation_id: str) -> Outcome:
        match claim.decision:
            case Poison() as poison:
                self.reports.poison(delivery, poison, correlation_id)
                return Outcome.POISON
            case Drop(reason):
                log.info("dropped", reason=reason)
                delivery.delete()
                return Outcome.DROPPED
            case Later(reason, delay, duplicate):
                log.info("later", reason=reason, delaySeconds=delay.total_seconds())
                return self._later(delivery, delay, correlation_id, duplicate=duplicate)
            case Spent() as spent:
                if claim.task is not None:
                    self.reports.spent(claim.task, spent, correlation_id)
                delivery.delete()
                return Outcome.SPENT
            case Claimed():
                raise AssertionError("a claimed message is worked on")
        assert_never(claim.decision)

    def _later(self, delivery: Delivery, delay: timedelta, correlation_id: str, *, duplicate: bool) -> Outcome:
        if duplicate:
            delivery.hide(delay * (1 + self.runtime.uniform(0, DUPLICATE_JITTER)))
            return Outcome.DUPLICATE
        delivery.come_back(delay, correlation_id)
        return Outcome.LATER

    def _claimed(self, delivery: Delivery, claim: Claim, given: str) -> Outcome:
        if not isinstance(claim.decision, Claimed) or claim.lease is None:
            raise AssertionError("only a claim with a lease is worked on")
        task = claim.decision.task
        correlation_id = task.correlation_id or given
        flight = Flight(delivery, task, claim.lease, correlation_id=correlation_id, runtime=self.runtime)
        with logs.bound(correlationId=correlation_id), self.flights.holding(flight):
            log.info("claimed", attempt=task.attempt, execution=task.executions, tookOver=claim.decision.took_over)
            outcome = self._execute(flight)
            if flight.reported_long:
                self.reports.long_over(flight, flight.lease.anchor.earliest(self.runtime.monotonic()))
            return outcome

    def _execute(self, flight: Flight) -> Outcome:
        try:
            output = self.ending.work.run(flight)
        except (LeaseLost, Interrupted):
            return self.ending.interrupted(flight, flight.stop or Stop.LEASE_LOST)
        except StateStoreError as error:
            return self.ending.give_back(flight, error.message)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is the failure of its work
            return self._raised(flight, error)
        return self.ending.finish(flight, output)

    def _raised(self, flight: Flight, error: Exception) -> Outcome:
        if flight.stop is not None:
            return self.ending.interrupted(flight, flight.stop)
        ours = classify_unknown(error)
        log.warning("the work failed", problem=ours.message, code=ours.code, exc_info=error)
        return self.ending.failed(flight, ours)
