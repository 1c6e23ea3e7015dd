"""What a render decision rests on, gathered only as far as it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from mos.domain.claims import OwnerState
from mos.domain.policy import Policy
from mos.domain.rendering.answers import Answer, Census, UnknownAnswer
from mos.domain.staleness import QueueState


class Need(StrEnum):
    """Evidence without which nothing can be decided. The mission gathers it and decides again."""

    ANSWER = "answer"
    """`GET /jobs/{uid}`, now."""
    OUTPUT = "output"
    """Whether this attempt's output is there and sound."""
    STORE = "store"
    """The farm's health and its list of jobs, once for all renders of this tick."""
    QUEUE = "queue"
    """Two readings of the step's queue, and what was lately claimed from it."""


class Output(StrEnum):
    """What stands under the key of this attempt's output."""

    SOUND = "sound"
    """It is there, decodes, and is not all black."""
    TORN = "torn"
    """It is there and is not sound."""
    ABSENT = "absent"
    UNKNOWN = "unknown"
    """The store could not be asked."""


@dataclass(frozen=True)
class OutputSeen:
    """The look at one attempt's output."""

    state: Output
    key: str | None = None


@dataclass(frozen=True)
class HostLoss:
    """The executor's host was restarted, or is gone, since `at` (a time of the state store)."""

    at: datetime
    what: str = "restarted"


@dataclass(frozen=True, kw_only=True)
class StoreSeen:
    """The farm as a whole. `active` are the uids that our state says are with the farm, the young ones left out."""

    healthy: bool
    census: Census | UnknownAnswer
    active: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class RenderLimits:
    """Bounds and durations of render recovery."""

    max_acts: int = 50
    look_every: timedelta = timedelta(minutes=5)
    """After each look at a render (§1.5)."""
    corroborate_after: timedelta = timedelta(seconds=60)
    """Between the two reads that make "missing" true."""
    clock_skew: timedelta = timedelta(minutes=5)
    """How far the farm's own clock may be off (law 8)."""
    mass_missing: int = 3
    mass_share: float = 0.3
    """So many uids, and such a share of the active ones, gone together: the farm lost its store, not the renders."""

    def scaled(self, scale: float) -> RenderLimits:
        """The same limits in the demo's time; two reads are never closer than two seconds."""
        return RenderLimits(
            max_acts=self.max_acts,
            look_every=max(self.look_every * scale, timedelta(seconds=5)),
            corroborate_after=max(self.corroborate_after * scale, timedelta(seconds=2)),
            clock_skew=self.clock_skew * scale,
            mass_missing=self.mass_missing,
            mass_share=self.mass_share,
        )


@dataclass(frozen=True, kw_only=True)
class RenderEvidence:
    """What is known in this tick. `answers`, `outputs`: by uid; `hosts`: by executor; `owners`: by boot id.

    `approved` are the uids that a person allowed to be submitted again although
    the farm lost its store.
    """

    answers: Mapping[str, Answer] = field(default_factory=dict)
    outputs: Mapping[str, OutputSeen] = field(default_factory=dict)
    hosts: Mapping[str, HostLoss] = field(default_factory=dict)
    store: StoreSeen | None = None
    queues: Mapping[str, QueueState | None] = field(default_factory=dict)
    """None: it could not be read."""
    owners: Mapping[str, OwnerState] = field(default_factory=dict)
    approved: frozenset[str] = frozenset()


def queue_of(policy: Policy, step: str) -> str:
    """The queue of a step, by which its state stands in the evidence; a pipeline may lack the step."""
    spec = policy.pipeline.steps.get(step)
    return spec.queue if spec is not None else step
