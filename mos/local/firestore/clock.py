"""Time as whole microseconds since 1970, which is what Firestore keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from mos.local.firestore.messages import Timestamp

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000


def system_clock() -> datetime:
    """The host's UTC time."""
    return datetime.now(UTC)


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970 of an aware datetime."""
    return (moment - EPOCH) // MICROSECOND


def stamp(us: int) -> Any:
    """The protobuf timestamp of a time in microseconds."""
    return Timestamp(seconds=us // SECOND, nanos=us % SECOND * 1000)


def from_stamp(message: Any) -> int:
    """Microseconds of a protobuf timestamp, truncated as Firestore does."""
    return int(message.seconds) * SECOND + int(message.nanos) // 1000


class CommitClock:
    """Gives commit times that strictly grow across the database, and read times that no later commit can equal."""

    def __init__(self, clock: Clock, last: int = 0) -> None:
        self._clock = clock
        self.last = last

    def now(self) -> int:
        """The injected clock in microseconds; may stand still or go back."""
        return micros(self._clock())

    def read_time(self) -> int:
        """A time at which everything committed so far, and nothing later, is visible."""
        self.last = max(self.last, self.now())
        return self.last

    def commit_time(self) -> int:
        """The next commit's time."""
        self.last = max(self.last + 1, self.now())
        return self.last
