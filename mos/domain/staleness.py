"""Lost or late? The one rule that separates a vanished message from a long queue (§3.2, law 7).

Asked once per queue and tick, and only if something is suspicious. Backlog is
not loss: work that waits in a deep queue is reported, never re-sent, never
counted against it, never failed for its age.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class QueueState:
    """What was read of one queue. `readings` are (visible, delayed) pairs of this tick, oldest first."""

    queue: str
    readings: tuple[tuple[int, int], ...]
    newest_claimed: datetime | None
    """The newest `queuedAt` among tasks lately claimed from this queue."""
    last_claim: datetime | None
    """When a task of this queue was last claimed."""

    @property
    def empty(self) -> bool:
        """Nothing visible and nothing delayed, in at least two readings (one reading of SQS is approximate)."""
        return len(self.readings) >= 2 and all(reading == (0, 0) for reading in self.readings)  # noqa: PLR2004

    @property
    def depth(self) -> int:
        """The latest reading."""
        return sum(self.readings[-1]) if self.readings else 0


@dataclass(frozen=True)
class Lost:
    """The message is gone: act."""

    reason: str


@dataclass(frozen=True)
class Late:
    """The message is (or may be) still in the queue: leave it."""

    reason: str


def lost_or_late(queue: QueueState | None, *, since: datetime, pickup_ttl: timedelta) -> Lost | Late:
    """The verdict for a message that was sent at `since` (running pass: whose lease ended then).

    SQS is roughly first in, first out: when tasks queued later by more than the
    pickup TTL have been claimed, this message was overtaken and is lost. A queue
    that could not be read says nothing, so its work is late.
    """
    if queue is None:
        return Late("the queue could not be read")
    if queue.empty:
        return Lost("the queue is empty")
    if queue.newest_claimed is not None and queue.newest_claimed - since > pickup_ttl:
        return Lost(f"overtaken: tasks queued {queue.newest_claimed - since} later were claimed")
    return Late(f"{queue.depth} messages wait in the queue")


def newest(times: Iterable[datetime | None]) -> datetime | None:
    """The newest of some times, if there is any."""
    return max((time for time in times if time is not None), default=None)
