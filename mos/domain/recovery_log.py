"""The recovery log as values (law 12): one entry per commit, one line per status change in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise

from pydantic import Field

from mos.domain.errors import FailureClass
from mos.domain.model import Document, IncidentStatus, Instant, JobStatus, Nested, TaskStatus
from mos.domain.transitions import By


class LogLine(Nested):
    """One document in one commit. What concerns tasks or jobs only is absent from the other's lines."""

    path: str
    before: str | None = None
    after: str
    reason: str = ""
    step_type: str | None = None
    attempt: int = 0
    reap_count: int = 0
    failures: int = 0
    executions: int = 0
    error_class: FailureClass | None = None
    lease_token: str | None = None
    lease_owner_before: str | None = None
    lease_token_before: str | None = None
    lease_ended_before: Instant | None = None
    kind: str | None = None
    retries: int = 0
    incident: IncidentStatus | None = None
    incident_class: FailureClass | None = None

    @property
    def id(self) -> str:
        """The document's id."""
        return self.path.rpartition("/")[2]

    @property
    def of_task(self) -> bool:
        return self.path.startswith("tasks/")

    def moved(self, before: TaskStatus | JobStatus, after: TaskStatus | JobStatus) -> bool:
        """Whether it went from the one status to the other."""
        return self.before == before and self.after == after


class LogEntry(Document):
    """`recoveryLog/{token}`. `committed_at` is the create time of the document, where it is known."""

    by: By
    actor: str = ""
    act: str
    at: Instant
    committed_at: Instant | None = None
    correlation_id: str = ""
    changes: tuple[LogLine, ...] = Field(default=())

    @property
    def order(self) -> tuple[datetime, str]:
        """Commits in the order in which they took effect."""
        return self.committed_at or self.at, self.id


Step = tuple[LogEntry, LogLine]


class History:
    """A log in order, as a whole and for each document."""

    def __init__(self, entries: Iterable[LogEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: entry.order))
        self.by_path: dict[str, list[Step]] = {}
        for entry in self.entries:
            for line in entry.changes:
                self.by_path.setdefault(line.path, []).append((entry, line))

    def steps(self) -> Iterator[Step]:
        """Every change in order."""
        for entry in self.entries:
            for line in entry.changes:
                yield entry, line

    def pairs(self) -> Iterator[tuple[LogLine, Step]]:
        """Each change of a document with the line before it."""
        for steps in self.by_path.values():
            for (_, earlier), step in pairwise(steps):
                yield earlier, step
