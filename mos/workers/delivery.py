"""One delivery of one message, and the four things that can be done with it.

A failed call is logged and changes nothing else: the message comes back when
its window runs out, and the state decides again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from mos import logs
from mos.clients.sqs import EntryResult, Outcome, Queues, Received
from mos.domain.errors import QueueError
from mos.domain.pipeline import StepSpec

CORRELATION = "correlationId"
LONGEST_DELAY = 900
"""Seconds; the service's limit for a delayed message."""
LONGEST_WINDOW = 43_200
"""Seconds; the service's limit for a visibility window."""
log = logs.logger(__name__)


@dataclass(frozen=True)
class Delivery:
    """A received message with the step whose queue it came from. `received_at` is monotonic, taken before the call."""

    received: Received
    step: StepSpec
    queues: Queues
    received_at: float

    @property
    def last_permitted(self) -> bool:
        """Whether one more receive would be one too many: the redrive policy would take the message."""
        return self.received.receive_count >= self.step.max_receives

    def delete(self) -> bool:
        """Acknowledge. A failed delete leaves the state as it is: only the acknowledgement is tried again."""
        return _well(self.queues.delete(self.step.queue, [self.received.receipt_handle]), "delete")

    def hide(self, delay: timedelta) -> bool:
        """Make it visible again after `delay`; zero releases it."""
        return _well(self.queues.extend(self.step.queue, [(self.received.receipt_handle, seconds(delay))]), "hide")

    def come_back(self, delay: timedelta, correlation_id: str) -> str | None:
        """Bring this message back after `delay`.

        At the last permitted receive a fresh message of the same attempt
        replaces it (§2.2), so that healthy work never reaches the dead letters.
        The fresh one's id, if one was sent.
        """
        if not self.last_permitted:
            self.hide(delay)
            return None
        return self.replace(delay, correlation_id)

    def replace(self, delay: timedelta, correlation_id: str) -> str | None:
        """Send the same body anew, then delete this one. The new message's id; None if it was not accepted."""
        attributes: Mapping[str, str] = {**self.received.attributes, CORRELATION: correlation_id}
        wait = min(seconds(delay), LONGEST_DELAY)
        try:
            fresh = self.queues.send(self.step.queue, self.received.body, attributes=attributes, delay_seconds=wait)
        except QueueError as error:
            log.warning("no fresh message was sent; the reaper will send it", problem=error.message)
            return None
        self.delete()
        return fresh


def seconds(delay: timedelta) -> int:
    """Whole seconds for SQS: never shorter than asked, within its limits."""
    return min(max(math.ceil(delay.total_seconds()), 0), LONGEST_WINDOW)


def _well(results: list[EntryResult], what: str) -> bool:
    result = results[0]
    if result.outcome is Outcome.OK:
        return True
    problem = result.error.message if result.error else ""
    log.warning("the queue did not do as asked", call=what, outcome=str(result.outcome), problem=problem)
    return False
