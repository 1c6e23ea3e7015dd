"""What render recovery does with one task: values, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mos.domain.findings import Sighting
from mos.domain.model import Render, Task, TaskStatus
from mos.domain.rendering.evidence import Need


class RenderActKind(StrEnum):
    """The acts of §3.3."""

    LOOK = "look"
    """Not decided yet: gather `needs` and decide again. Never written."""
    LEAVE = "leave"
    """Nothing to do before `until`."""
    SEND = "send"
    """It is queued and its message was never sent."""
    RESEND = "resend"
    """It is queued and its message is lost: the same attempt again."""
    REAP = "reap"
    """Its worker is gone before the farm had it, and its message is lost: a new attempt."""
    REPOLL = "repoll"
    """Nobody asks the farm any more: send the next generation of its poll."""
    SUSPECT = "suspect"
    """The farm says that it has no such job: remember since when, and read again."""
    SUBMIT = "submit"
    """The submission is gone, corroborated: queue a new one with a fresh uid."""
    ADOPT = "adopt"
    """The output of this attempt is there and sound: complete the task with it."""
    STRAND = "strand"
    """A budget is used up: fail it as `stranded_pipeline`."""


WAITING_KINDS = frozenset({RenderActKind.LOOK, RenderActKind.LEAVE, RenderActKind.SUSPECT})
"""They change no status and send nothing (law 10)."""


@dataclass(frozen=True, kw_only=True)
class RenderAct:
    """One act on one task. The observed task is its fence."""

    kind: RenderActKind
    task: Task
    reason: str
    until: datetime | None = None
    needs: Need | None = None
    render: Render | None = None
    """What is known of the submission after this look; None where the act says nothing about it."""
    outcome: str | None = None
    """What became of the submission that a new one replaces."""
    output_key: str | None = None
    counted: bool = True
    """Whether a reap is counted (not when the loss was announced)."""
    ends_as: TaskStatus = TaskStatus.FAILED
    late: bool = False
    """Left because its message is late, not lost."""
    sighting: Sighting | None = None
