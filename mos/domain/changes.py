"""What a decision wants written: values, which the gateway checks and commits as one.

A decision never writes. It returns a `Commit`: every document before and
after, who wants it and why. The gateway adds the drivers and the log entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mos.domain.model import Job, Task
from mos.domain.transitions import By


@dataclass(frozen=True)
class TaskChange:
    """A task before and after. `check_at` leaves it to its driver until then ("leave it until T")."""

    before: Task | None
    after: Task
    reason: str
    check_at: datetime | None = None


@dataclass(frozen=True)
class JobChange:
    """A job before and after. `open_tasks`: whether a cancelled job still has tasks to cancel."""

    before: Job | None
    after: Job
    reason: str
    check_at: datetime | None = None
    open_tasks: bool = True


@dataclass(frozen=True)
class NewDocument:
    """A document created beside the change if it is absent (an outbox entry, an error event)."""

    path: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Commit:
    """One transaction's worth of changes."""

    by: By
    act: str
    correlation_id: str
    tasks: tuple[TaskChange, ...] = ()
    jobs: tuple[JobChange, ...] = ()
    new: tuple[NewDocument, ...] = field(default=())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.tasks or self.jobs or self.new)
