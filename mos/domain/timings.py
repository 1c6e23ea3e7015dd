"""Every duration the rules use, in one value that can be scaled as a whole.

Production uses the defaults. The demo scales them (one minute becomes one
second) so that hours become minutes; windows that guard against double work
never go below a floor, whatever the scale.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta

from mos.domain.errors import SettingsError


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

    def __post_init__(self) -> None:
        if self.heartbeat >= self.visibility:
            raise SettingsError(
                f"the heartbeat ({self.heartbeat}) must be shorter than the visibility timeout ({self.visibility})",
                details={"field": "SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS"},
            )
        if self.lease_margin >= self.visibility:
            raise SettingsError("the lease margin must be shorter than the visibility timeout")
        if self.retry_base > self.retry_max:
            raise SettingsError(
                f"the first retry delay ({self.retry_base}) is above the longest ({self.retry_max})",
                details={"field": "SQS_RETRY_VISIBILITY_BASE_SECONDS"},
            )

    @property
    def lease(self) -> timedelta:
        """How long a lease lasts from its renewal."""
        return self.visibility - self.lease_margin

    def scaled(self, scale: float) -> Timings:
        """All durations times `scale`; windows keep at least 10 s with a margin of 2 s (§5.3)."""
        if not 0 < scale <= 1:
            raise SettingsError(f"the time scale must be above 0 and at most 1, not {scale}")
        if scale == 1:
            return self
        small = {field.name: getattr(self, field.name) * scale for field in fields(self)}
        visibility = _at_least(small["visibility"], 10)
        return Timings(
            **{
                **{name: _at_least(value, 1) for name, value in small.items()},
                "visibility": visibility,
                "heartbeat": visibility / 4,
                "lease_margin": timedelta(seconds=2),
                "lease_grace": _at_least(small["lease_grace"], 2),
            }
        )


def _at_least(value: timedelta, seconds: float) -> timedelta:
    return max(timedelta(seconds=round(value.total_seconds())), timedelta(seconds=seconds))
