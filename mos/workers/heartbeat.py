"""Renewing everything in flight: first each lease, then each window, in batches (§2.1 rule 4).

One `beat` is one pass. Each call has its own deadline; a failed renewal is
reported and tried again at the next beat. The lease decides: past its end the
work aborts, whatever the receipt says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from google.cloud import firestore

from mos import logs
from mos.clients.sqs import Outcome, Queues
from mos.domain.errors import AppError, LeaseLost
from mos.domain.pipeline import StepSpec
from mos.domain.policy import Policy
from mos.runtime import Runtime
from mos.store.leases import Renewal, renew
from mos.workers.delivery import LONGEST_WINDOW, seconds
from mos.workers.flight import Flight, Flights, Stop
from mos.workers.reports import Reports

TOO_LONG = 4
"""Times its step's time-to-live after which a running step is stopped (law 6)."""
SHARE = 3
"""A window that is shorter than three heartbeats is renewed each third of it."""
log = logs.logger(__name__)


def interval(policy: Policy, steps: list[StepSpec]) -> timedelta:
    """How often to beat: the setting, or a third of the shortest window."""
    return min([policy.timings.heartbeat, *(policy.window(step) / SHARE for step in steps)])


@dataclass(frozen=True, kw_only=True)
class Heartbeat:
    """Keeps one process's flights alive."""

    client: firestore.Client
    queues: Queues
    flights: Flights
    policy: Policy
    runtime: Runtime
    every: timedelta
    reports: Reports
    on_stuck: Callable[[Flight], None]
    """A handler did not stop in time: the process must end."""

    @property
    def timeout(self) -> float:
        """Seconds for one call, so that a slow one cannot starve the others until their leases end."""
        return min(5.0, max(0.5, self.every.total_seconds() / 4))

    def beat(self) -> None:
        """One pass over all flights."""
        flights = self.flights.all()
        for flight in flights:
            self._watch(flight)
            self._renew_lease(flight)
        by_step: dict[str, list[Flight]] = defaultdict(list)
        for flight in flights:
            by_step[flight.delivery.step.queue].append(flight)
        for queue, group in by_step.items():
            self._renew_windows(queue, group)
        for flight in flights:  # after the renewals: a slow report must not hold them up
            self._report_long(flight)

    def _watch(self, flight: Flight) -> None:
        """Ask for a stop where one is due."""
        now = self.runtime.monotonic()
        ran, ttl = now - flight.started, flight.delivery.step.running_ttl.total_seconds()
        window = self.policy.window(flight.delivery.step).total_seconds()
        if ran > TOO_LONG * ttl and flight.stop is None:
            log.error("runs far too long; asked to stop", task=flight.task.id, seconds=round(ran))
            flight.ask_to_stop(Stop.TOO_LONG)
        if now - flight.delivery.received_at > LONGEST_WINDOW - 2 * window and flight.stop is None:
            log.info("hands over before its receipt expires", task=flight.task.id)
            flight.ask_to_stop(Stop.HAND_OVER)
        if flight.stop is Stop.TOO_LONG and flight.stopped_at is not None and now - flight.stopped_at > window:
            self.on_stuck(flight)

    def _report_long(self, flight: Flight) -> None:
        now = self.runtime.monotonic()
        ran = now - flight.started
        if ran > flight.delivery.step.running_ttl.total_seconds() and not flight.reported_long:
            flight.reported_long = True
            self.reports.long_running(flight, ran, flight.lease.anchor.earliest(now))

    def _renew_lease(self, flight: Flight) -> None:
        if not flight.holds_lease:
            if flight.stop is not Stop.TOO_LONG:
                self._lost(flight, "its lease ran out before it could be renewed")
            return
        if not flight.enter():
            return
        step = flight.delivery.step
        renewal = Renewal(
            length=self.policy.lease(step),
            grace=self.policy.timings.lease_grace,
            progressed=flight.take_progress(self.policy.timings.progress_every.total_seconds()),
            timeout=self.timeout,
        )
        try:
            flight.lease = renew(self.client, flight.lease, renewal, self.runtime)
        except LeaseLost as error:
            self._lost(flight, error.message)
        except AppError as error:
            log.warning("lease not renewed; tried again at the next beat", task=flight.task.id, problem=error.message)
        finally:
            flight.leave()

    def _lost(self, flight: Flight, why: str) -> None:
        if flight.stop is not Stop.LEASE_LOST:
            log.warning("lease lost", task=flight.task.id, reason=why)
            flight.ask_to_stop(Stop.LEASE_LOST)

    def _renew_windows(self, queue: str, flights: list[Flight]) -> None:
        """A stale receipt alone aborts nothing."""
        entered = [flight for flight in flights if flight.holds_lease and flight.enter()]
        if not entered:
            return
        try:
            window = seconds(self.policy.window(entered[0].delivery.step))
            entries = [(flight.delivery.received.receipt_handle, window) for flight in entered]
            for flight, result in zip(entered, self.queues.extend(queue, entries), strict=True):
                if result.outcome is not Outcome.OK:
                    problem = result.error.message if result.error else str(result.outcome)
                    log.warning("window not renewed", task=flight.task.id, problem=problem)
        finally:
            for flight in entered:
                flight.leave()
