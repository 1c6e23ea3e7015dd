"""`stack.json`: what runs, for other processes and for the start after a kill."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from mos.local.supervisor.machine import Phase


class PartRecord(BaseModel):
    """One part. `identity` tells a reused pid (identity.py)."""

    model_config = ConfigDict(frozen=True)
    name: str
    phase: Phase
    pid: int | None
    identity: str | None
    restarts: int
    address: str | None
    log: Path
    reason: str
    """Why it ended last, or empty."""


class StackRecord(BaseModel):
    """The whole stack. `up` is true once every part has come up; `addresses` are what clients need, by name."""

    model_config = ConfigDict(frozen=True)
    supervisor: int
    supervisor_identity: str | None
    up: bool
    parts: tuple[PartRecord, ...]
    addresses: dict[str, str]

    def part(self, name: str) -> PartRecord:
        """The part of this name; raises KeyError."""
        return {part.name: part for part in self.parts}[name]


def write(path: Path, record: StackRecord) -> None:
    """Replace the file in one step: a reader sees the old or the new one, also after a crash."""
    temporary = path.with_suffix(".json.new")
    with temporary.open("w") as file:
        file.write(record.model_dump_json(indent=2))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read(path: Path) -> StackRecord | None:
    """The record, or None if there is none or it is not readable (another version's, or damaged by hand)."""
    try:
        return StackRecord.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
