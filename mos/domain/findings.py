"""Findings: what people should see, with a stable identity (§3.11)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from mos.domain.model import Document, Instant


class Severity(StrEnum):
    """How bad."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class FindingCode(StrEnum):
    """The finding codes of the missions; one runbook each under `docs/runbooks/`."""

    BACKLOG = "BACKLOG"
    NO_WORKERS = "NO_WORKERS"
    DEAD_LETTERS = "DEAD_LETTERS"
    UNREADABLE_RECORD = "UNREADABLE_RECORD"
    LONG_RUNNING = "LONG_RUNNING"
    RENDER_STUCK = "RENDER_STUCK"
    RENDER_STORE_LOST = "RENDER_STORE_LOST"


SEVERITY = {
    FindingCode.BACKLOG: Severity.WARNING,
    FindingCode.NO_WORKERS: Severity.CRITICAL,
    FindingCode.DEAD_LETTERS: Severity.WARNING,
    FindingCode.UNREADABLE_RECORD: Severity.INFO,
    FindingCode.LONG_RUNNING: Severity.WARNING,
    FindingCode.RENDER_STUCK: Severity.WARNING,
    FindingCode.RENDER_STORE_LOST: Severity.CRITICAL,
}


@dataclass(frozen=True)
class Sighting:
    """One observation of a finding in one pass. `subject` is the path of a document or the name of a queue."""

    code: FindingCode
    subject: str
    evidence: dict[str, Any] = field(default_factory=dict)
    until: datetime | None = None
    """Nobody looks again before then, so that not seeing it earlier says nothing."""

    @property
    def id(self) -> str:
        """Stable: the same trouble is the same document. Slashes cannot stand in an id."""
        return f"{self.code}:{self.subject.replace('/', '~')}"

    @property
    def severity(self) -> Severity:
        """From the code alone."""
        return SEVERITY[self.code]


class Finding(Document):
    """`findings/{code:subject}`."""

    code: str
    severity: Severity
    subject: str
    owner: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)
    first_seen: Instant
    last_seen: Instant
    occurrences: int = 1
    closed_at: Instant | None = None
    until: Instant | None = None
    seen_by: str = ""
    pass_id: str = ""
