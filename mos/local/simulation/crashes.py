"""Crash points: run once to count the I/O calls, then once per call and side with a crash right there (§6.1).

A crashed actor is dead: whatever it still tries while its stack unwinds has no
effect, since SIGKILL runs no `finally`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Crashed(BaseException):
    """The process is gone. Not an `Exception`: nobody may handle it."""


class Side(StrEnum):
    """When, seen from the call."""

    BEFORE = "before"
    AFTER = "after"
    """It took effect, and its answer was never seen."""


@dataclass
class CrashPoint:
    """An `Io` that crashes at call number `at` (from 1; 0: never) and lists what it saw."""

    at: int = 0
    side: Side = Side.BEFORE
    sites: list[str] = field(default_factory=list)
    dead: bool = False

    def __call__(self, site: str, do: Callable[[], Any]) -> Any:
        """Perform a call, or die."""
        if self.dead:
            raise Crashed(site)
        self.sites.append(site)
        here = len(self.sites) == self.at
        if here and self.side is Side.BEFORE:
            self._die(site)
        answer = do()
        if here:
            self._die(site)
        return answer

    def _die(self, site: str) -> None:
        self.dead = True
        raise Crashed(site)


def crash_points(calls: int) -> Iterator[CrashPoint]:
    """Every point of a run that made so many calls."""
    for at in range(1, calls + 1):
        for side in Side:
            yield CrashPoint(at, side)


def survive(act: Callable[[], object], point: CrashPoint) -> None:
    """Run `act` up to the crash. While dead, any error may come out: the stock client masks some."""
    try:
        act()
    except BaseException:
        if not point.dead:
            raise
