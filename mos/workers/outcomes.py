"""What became of one delivery: for the logs, the counters and the tests."""

from __future__ import annotations

from enum import StrEnum


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
