"""Every duration the rules use, in one value that can be scaled as a whole.

Production uses the defaults. The demo scales them (one minute becomes one
second) so that hours become minutes; windows that guard against double work
never go below a floor, whatever the scale.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta

from mos.domain.errors import SettingsError

SHORTEST_LEASE = 10
"""Seconds: whatever the scale, a pause of the machine must not end a lease."""
SCALED_MARGIN = 2
SHORTEST_WINDOW = SHORTEST_LEASE + SCALED_MARGIN


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Durations of the recovery rules (sources: §1.5, §2.1, §3.2)."""

    visibility: timedelta = timedelta(seconds=300)
    """How long a received message stays hidden; each renewal resets it."""
    heartbeat: timedelta = timedelta(seconds=60)
    """How often lease and visibility are renewed."""
    lease_margin: timedelta = timedelta(seconds=15)
    """The lease ends this long before the visibility window."""
    lease_grace: timedelta = timedelta(seconds=120)
    """A lease must have ended this long ago before anybody reaps."""
    unsent_grace: timedelta = timedelta(seconds=60)
    """An outbox entry older than this is sent by its mission."""
    retry_base: timedelta = timedelta(seconds=30)
    retry_max: timedelta = timedelta(seconds=900)
    stalled_after: timedelta = timedelta(hours=3)
    """A job without progress for this long is examined."""
    worker_silent: timedelta = timedelta(minutes=5)
    """A worker whose heartbeat is older counts as absent."""
    progress_every: timedelta = timedelta(seconds=60)
    """`lastProgressAt` is written at most this often."""
    poll_silence: timedelta = timedelta(minutes=3)
    """A render that was not polled for this long is polled again."""
    resubmit_window: timedelta = timedelta(minutes=20)
    """Before it nobody asks whether a render has to be submitted once more."""
    render_unchanged: timedelta = timedelta(minutes=60)
    """A render without any change for this long is a finding (law 6)."""
    cool_down: timedelta = timedelta(minutes=5)
    """Between two automatic retries of a job."""

    def __post_init__(self) -> None:
        if self.lease_margin >= self.visibility:
            raise _of_variable(
                "SQS_VISIBILITY_TIMEOUT_SECONDS",
                f"{self.visibility} leaves no lease: it must be longer than the margin of {self.lease_margin}",
            )
        if self.heartbeat >= self.lease:
            raise _of_variable(
                "SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS",
                f"the heartbeat ({self.heartbeat}) must be shorter than the lease, which is the visibility timeout "
                f"({self.visibility}) less {self.lease_margin}",
            )
        if self.retry_base > self.retry_max:
            raise _of_variable(
                "SQS_RETRY_VISIBILITY_BASE_SECONDS",
                f"the first retry delay ({self.retry_base}) is above the longest ({self.retry_max})",
            )

    @property
    def lease(self) -> timedelta:
        """How long a lease lasts from its renewal."""
        return self.visibility - self.lease_margin

    def scaled(self, scale: float) -> Timings:
        """All durations times `scale`; leases keep at least 10 s and end 2 s before their window (§5.3)."""
        if not 0 < scale <= 1:
            raise SettingsError(f"the time scale must be above 0 and at most 1, not {scale}")
        if scale == 1:
            return self
        small = {field.name: getattr(self, field.name) * scale for field in fields(self)}
        visibility = _at_least(small["visibility"], SHORTEST_WINDOW)
        return Timings(
            **{
                **{name: _at_least(value, 1) for name, value in small.items()},
                "visibility": visibility,
                "heartbeat": visibility / 4,
                "lease_margin": timedelta(seconds=SCALED_MARGIN),
                "lease_grace": _at_least(small["lease_grace"], 2),
            }
        )


def _of_variable(name: str, problem: str) -> SettingsError:
    return SettingsError(f"{name}: {problem}", details={"field": name})


def _at_least(value: timedelta, seconds: float) -> timedelta:
    return max(timedelta(seconds=round(value.total_seconds())), timedelta(seconds=seconds))
