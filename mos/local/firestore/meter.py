"""Counts document reads, writes and deletes as Firestore bills them, per caller tag."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass

ENTRIES_PER_READ = 1000
UNKNOWN = "unknown"


@dataclass(slots=True)
class Usage:
    """What one caller has cost."""

    reads: int = 0
    writes: int = 0
    deletes: int = 0
    calls: int = 0


class Meter:
    """Usage per caller since the start or the last reset."""

    def __init__(self) -> None:
        self._usage: dict[str, Usage] = defaultdict(Usage)

    def call(self, caller: str) -> None:
        """One RPC."""
        self._usage[caller].calls += 1

    def read(self, caller: str, documents: int) -> None:
        """Documents looked up by name; missing ones cost too."""
        self._usage[caller].reads += documents

    def query(self, caller: str, documents: int) -> None:
        """A query: each document it returned or skipped, at least one read."""
        self._usage[caller].reads += max(1, documents)

    def aggregation(self, caller: str, entries: int) -> None:
        """An aggregation: one read per thousand index entries, at least one."""
        self._usage[caller].reads += max(1, math.ceil(entries / ENTRIES_PER_READ))

    def write(self, caller: str, writes: int, deletes: int) -> None:
        """Committed writes and deletes."""
        usage = self._usage[caller]
        usage.writes += writes
        usage.deletes += deletes

    def of(self, caller: str) -> Usage:
        """A copy of one caller's usage."""
        return Usage(**asdict(self._usage[caller])) if caller in self._usage else Usage()

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All usage by caller, as plain numbers."""
        return {caller: asdict(usage) for caller, usage in sorted(self._usage.items())}

    def reset(self) -> None:
        """Start again from zero."""
        self._usage.clear()
