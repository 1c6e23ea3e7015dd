"""Ending processes together with everything they started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from mos.local.supervisor.errors import StackError
from mos.local.supervisor.process import MARK_VARIABLE

_POLL = 0.02
_KILL_WAIT = 5.0


@dataclass(frozen=True)
class Ended:
    """Pids that were asked to end, and those of them (or their late children) that had to be killed."""

    asked: frozenset[int]
    killed: frozenset[int]


def end_all(roots: Iterable[psutil.Process], *, marks: Iterable[str], timeout: float) -> Ended:
    """TERM, up to `timeout` seconds of grace, KILL.

    Covers each root, its session, its descendants, and every process that
    carries one of the `marks`, but never this process or one above it. What is
    started meanwhile is found too: each pass of the kill looks again. Raises
    StackError if something survives.
    """
    family = _Family(list(roots), frozenset(marks))
    asked = frozenset(process.pid for process in family.alive())
    family.send(signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while family.alive() and time.monotonic() < deadline:
        time.sleep(_POLL)
    return Ended(asked, _kill_until_gone(family))


def _kill_until_gone(family: _Family) -> frozenset[int]:
    killed: set[int] = set()
    deadline = time.monotonic() + _KILL_WAIT
    while alive := family.look_again():
        if time.monotonic() >= deadline:
            raise StackError(f"could not end pid {', '.join(str(p.pid) for p in alive)}; end them by hand")
        killed.update(process.pid for process in alive)
        family.send(signal.SIGKILL)
        time.sleep(_POLL)
    return frozenset(killed)


class _Family:
    """The processes that are to end. psutil compares start times before each signal, so a reused pid is safe."""

    def __init__(self, roots: list[psutil.Process], marks: frozenset[str]) -> None:
        # Only a living leader vouches for its session's number; the mark finds the children of a dead one.
        self._sessions = {root.pid for root in roots if _runs(root)}
        self._marks = marks
        self._members: set[psutil.Process] = set(roots)
        self._spared = {os.getpid(), *(above.pid for above in psutil.Process().parents())}
        self.look_again()

    def look_again(self) -> list[psutil.Process]:
        """Find newly started members; the living ones."""
        self._members.update(process for process in psutil.process_iter() if self._belongs(process))
        for member in list(self._members):
            with contextlib.suppress(psutil.Error):
                self._members.update(member.children(recursive=True))
        return self.alive()

    def alive(self) -> list[psutil.Process]:
        """Members that still run (a zombie has ended)."""
        return [process for process in self._members if _runs(process)]

    def send(self, number: signal.Signals) -> None:
        """Signal all living members; a stopped one is continued, for it could not act on TERM."""
        for process in self.alive():
            with contextlib.suppress(psutil.Error):  # gone, or not ours to end: the caller counts what is left
                process.send_signal(number)
                process.send_signal(signal.SIGCONT)

    def _belongs(self, process: psutil.Process) -> bool:
        if process.pid in self._spared:
            return False
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) in self._sessions:
                return True
        return any(carries(process, mark) for mark in self._marks)


def carries(process: psutil.Process, mark: str) -> bool:
    """Whether the process was started under this mark: a stack's, or that of one of its parts (`<stack>/<part>`)."""
    with contextlib.suppress(psutil.Error, OSError):
        carried = process.environ().get(MARK_VARIABLE, "")
        return carried == mark or carried.startswith(f"{mark}/")
    return False


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
