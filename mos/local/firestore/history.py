"""A bounded history of versions: what a document was at an earlier commit time, and what changed since one."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from mos.local.firestore.clock import SECOND
from mos.local.firestore.mutation import Doc

RETENTION = 3600 * SECOND
MAX_VERSIONS = 100_000
MAX_BYTES = 64 << 20
COMPACT = 4096


class Superseded(NamedTuple):
    """A version (None = absent) that was current until `end`, in microseconds."""

    end: int
    doc: Doc | None


def _end(version: Superseded) -> int:
    return version.end


class History:
    """Superseded versions, oldest dropped first: older than an hour, or beyond a fixed count or size."""

    def __init__(
        self, *, retention: int = RETENTION, max_versions: int = MAX_VERSIONS, max_bytes: int = MAX_BYTES
    ) -> None:
        self._retention = retention
        self._max_versions = max_versions
        self._max_bytes = max_bytes
        self._versions: dict[str, list[Superseded]] = {}
        self._times: list[int] = []
        self._names: list[str] = []
        self._head = 0
        self._bytes = 0
        self.horizon = 0
        """Reads at a time before this one cannot be answered."""

    def __len__(self) -> int:
        return len(self._times) - self._head

    def add(self, name: str, before: Doc | None, at: int) -> None:
        """Record that `before` was superseded at commit time `at`."""
        self._versions.setdefault(name, []).append(Superseded(at, before))
        self._times.append(at)
        self._names.append(name)
        self._bytes += len(before.data) if before else 0

    def at(self, name: str, current: Doc | None, time: int) -> Doc | None:
        """The version of `name` that was current at `time`."""
        versions = self._versions.get(name, [])
        found = bisect_right(versions, time, key=_end)
        return versions[found].doc if found < len(versions) else current

    def since(self, time: int) -> set[str]:
        """The names that changed after `time`."""
        return set(self._names[bisect_right(self._times, time, lo=self._head) :])

    def prune(self, now: int) -> None:
        """Forget what is too old or too much."""
        while len(self) and (
            self._times[self._head] < now - self._retention
            or len(self) > self._max_versions
            or self._bytes > self._max_bytes
        ):
            self._forget()
        if self._head > COMPACT and self._head * 2 > len(self._times):
            del self._times[: self._head], self._names[: self._head]
            self._head = 0

    def _forget(self) -> None:
        name, self.horizon = self._names[self._head], self._times[self._head]
        self._head += 1
        versions = self._versions[name]
        gone = versions.pop(0)
        self._bytes -= len(gone.doc.data) if gone.doc else 0
        if not versions:
            del self._versions[name]
