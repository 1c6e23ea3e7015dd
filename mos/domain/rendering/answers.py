"""What nexrender can say about a render: three answers, never two (facts measured on the real server).

Known: 200, JSON, the same uid. Missing: 200 with an empty body. Everything else
(403, 204, 4xx, 5xx, a time-out, not JSON, another uid) is unknown, and unknown
never leads to a new submission.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mos.domain.text import clean

FINISHED = "finished"
FAILED = "error"
QUEUED = "queued"
TERMINAL = frozenset({FINISHED, FAILED})
"""Whatever else a record says, known or not, is active."""
_MAX_SEGMENTS = 20


@dataclass(frozen=True, kw_only=True)
class FarmRecord:
    """One job of nexrender. Times are those of the farm's own clock; `progress` is per cent and means little."""

    uid: str
    state: str
    executor: str | None = None
    progress: float | None = None
    updated_at: datetime | None = None
    errors: tuple[str, ...] = ()
    """The error's segments in the order they were reported; empty where the farm gives no text."""

    @property
    def terminal(self) -> bool:
        """Whether nexrender itself will not touch it again. `finished` is a claim: the output decides."""
        return self.state in TERMINAL

    @property
    def active(self) -> bool:
        """Whether a host has it, or had it when the record was last written."""
        return not self.terminal and self.state != QUEUED

    @property
    def fingerprint(self) -> str:
        """Changes whenever the record was written."""
        return f"{self.state}|{self.progress}|{self.updated_at.isoformat() if self.updated_at else ''}"


@dataclass(frozen=True)
class Known:
    """nexrender has the job."""

    record: FarmRecord


@dataclass(frozen=True)
class Missing:
    """nexrender says that it has no such job: its file may have been lost while the render lives."""


@dataclass(frozen=True)
class UnknownAnswer:
    """Nobody can say."""

    reason: str


Answer = Known | Missing | UnknownAnswer


@dataclass(frozen=True)
class Census:
    """Every job of the farm at once, by uid. A uid that stands there twice counts once: nexrender answers the last."""

    records: dict[str, FarmRecord] = field(default_factory=dict)


def read_answer(status: int, body: bytes, uid: str) -> Answer:
    """The answer to `GET /jobs/{uid}`."""
    if status != 200:  # noqa: PLR2004 - a status, named in the rule
        return UnknownAnswer(f"status {status}: {_excerpt(body)}")
    if body.strip() in {b"", b"null"}:
        return Missing()
    try:
        record = _record(_json(body))
    except ValueError as error:
        return UnknownAnswer(str(error))
    return Known(record) if record.uid == uid else UnknownAnswer(f"a record of {clean(record.uid, 80)!r} came instead")


def read_census(status: int, body: bytes) -> Census | UnknownAnswer:
    """The answer to `GET /jobs/status` or `GET /jobs`. One entry that is no record spoils the whole list."""
    if status != 200:  # noqa: PLR2004 - a status, named in the rule
        return UnknownAnswer(f"status {status}: {_excerpt(body)}")
    try:
        raw = _json(body)
        if not isinstance(raw, list):
            raise ValueError(f"a list is needed, not {type(raw).__name__}")  # noqa: TRY004, TRY301 - one way out
        return Census({record.uid: record for record in map(_record, raw)})
    except ValueError as error:
        return UnknownAnswer(str(error))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not JSON: {_excerpt(body)}") from error


def _excerpt(body: bytes) -> str:
    return clean(body[:400].decode(errors="replace"), 200) or "no text"


def _record(raw: Any) -> FarmRecord:
    if not isinstance(raw, dict):
        raise ValueError(f"a record is needed, not {type(raw).__name__}")  # noqa: TRY004 - one way out
    uid, state = raw.get("uid"), raw.get("state")
    if not isinstance(uid, str) or not isinstance(state, str) or not uid or not state:
        raise ValueError("a record without uid or state")
    executor = raw.get("executor") or raw.get("jobExecutor")
    progress = raw.get("renderProgress")
    return FarmRecord(
        uid=uid,
        state=clean(state, 80),
        executor=clean(executor, 80) if isinstance(executor, str) else None,
        progress=float(progress) if isinstance(progress, int | float) and not isinstance(progress, bool) else None,
        updated_at=_time(raw.get("updatedAt")),
        errors=tuple(_segments(raw.get("error")))[:_MAX_SEGMENTS],
    )


def _time(value: Any) -> datetime | None:
    """None where it is no time with a zone: a time that nobody understands is no evidence."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def _segments(error: Any) -> Iterator[str]:
    """Null, a text whose segments are joined by blank lines, a list of them, or the `{}` of an old worker."""
    parts = error if isinstance(error, list) else [error]
    for part in parts:
        if isinstance(part, str):
            yield from (clean(segment) for segment in re.split(r"\n\s*\n", part) if segment.strip())
        elif isinstance(part, dict) and isinstance(part.get("message"), str):
            yield clean(part["message"])
