"""Receiving from one queue: reserve places, poll, extend what came, hand it on (§2.1 rules 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from mos import logs
from mos.clients.sqs import Outcome, Queues
from mos.domain.errors import ValidationError
from mos.domain.messages import parse_message
from mos.domain.pipeline import StepSpec
from mos.domain.policy import Policy
from mos.domain.text import clean
from mos.runtime import Event, Runtime
from mos.workers.delivery import CORRELATION, Delivery, seconds
from mos.workers.slots import Slots

SHARED_POLL = 2
"""Seconds: the longest poll while another queue waits for a place."""
RESERVE_SECONDS = 5.0
"""How long one pass waits for a place."""
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Receiver:
    """Passes over one queue. `share` is the most places one poll may hold."""

    step: StepSpec
    queues: Queues
    slots: Slots
    policy: Policy
    runtime: Runtime
    long_poll: int
    share: int
    stopping: Event
    start: Callable[[Delivery], None]
    """Handles a delivery and gives its place back; in a process, in a thread of its own."""

    def poll(self) -> int:
        """One pass: how many deliveries were started.

        Raises:
            QueueError: the queue could not be asked; no place is held.
        """
        places = self.slots.reserve(self.share, RESERVE_SECONDS)
        if places == 0:
            return 0
        started = 0
        try:
            for delivery in self._receive(places):
                self.start(delivery)
                started += 1
        finally:
            if places > started:
                self.slots.release(places - started)
        return started

    def _receive(self, places: int) -> list[Delivery]:
        wait = min(self.long_poll, SHARED_POLL) if self.slots.contended else self.long_poll
        asked = self.runtime.monotonic()
        received = self.queues.receive(self.step.queue, max_messages=places, wait_seconds=wait)
        deliveries = [Delivery(one, self.step, self.queues, asked) for one in received]
        if self.stopping.is_set():
            for delivery in deliveries:
                self._put_back(delivery)
            return []
        return self._extended(deliveries)

    def _extended(self, deliveries: list[Delivery]) -> list[Delivery]:
        """The first extension, in one call: who does not get it is left alone, with no work done (§2.1 rule 2)."""
        if not deliveries:
            return []
        window = seconds(self.policy.window(self.step))
        results = self.queues.extend(self.step.queue, [(one.received.receipt_handle, window) for one in deliveries])
        ready = []
        for delivery, result in zip(deliveries, results, strict=True):
            if result.outcome is Outcome.OK:
                ready.append(delivery)
            else:
                problem = result.error.message if result.error else str(result.outcome)
                log.warning("left alone: its window was not extended", queue=self.step.queue, problem=problem)
        return ready

    def _put_back(self, delivery: Delivery) -> None:
        """What an open poll brought after the stop goes back at once, unclaimed. A malformed one is never replaced."""
        received = delivery.received
        try:
            parse_message(received.body, step=self.step.name)
        except ValidationError:
            delivery.hide(timedelta())
        else:
            correlation_id = clean(received.attributes.get(CORRELATION, ""), 128) or self.runtime.new_id()
            delivery.come_back(timedelta(), correlation_id)
