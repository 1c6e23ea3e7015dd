"""What became of one delivery: for the logs, the counters and the tests."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from mos.runtime import Runtime


class Outcome(StrEnum):
    """One of these for each delivery that `Worker.handle` was given."""

    COMPLETED = "completed"
    """Durable, successors queued, acknowledged."""
    RETRY = "retry"
    """Failed; queued again behind a delay."""
    FAILED = "failed"
    """Failed for good, with its cascade; acknowledged."""
    RELEASED = "released"
    """Given back unharmed: a drain, a hand-over, or a state store that could not be reached."""
    ABANDONED = "abandoned"
    """The lease was lost: nothing was committed, nothing deleted."""
    DROPPED = "dropped"
    """A stale message: deleted."""
    LATER = "later"
    """Hidden until it may be claimed."""
    DUPLICATE = "duplicate"
    """Another worker holds the lease: hidden for what is left of it."""
    SPENT = "spent"
    """A joint budget was used up: the task ended; acknowledged."""
    POISON = "poison"
    """Fits no state: left for redrive, with an error event."""
    MALFORMED = "malformed"
    """Not a task message: left for redrive, with an error event."""
    LEFT = "left"
    """Something of ours went wrong: left as it is, it comes back when its window runs out."""


class Tally:
    """How many deliveries ended in which way, since the process started."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._counts: Counter[Outcome] = Counter()

    def count(self, outcome: Outcome) -> None:
        """One more."""
        with self._lock:
            self._counts[outcome] += 1

    def counts(self) -> dict[str, int]:
        """A snapshot, by name."""
        with self._lock:
            return {str(outcome): number for outcome, number in sorted(self._counts.items())}
