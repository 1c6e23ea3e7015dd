"""The free places of a process, shared between its queues without starving any.

A receiver reserves places *before* it receives, so that nothing is received
that cannot start. Freed places are handed to whoever waits longest; a receiver
that returns an unused place goes to the end of the line.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mos.runtime import Event, Runtime


@dataclass
class _Waiter:
    event: Event
    granted: bool = False


class Slots:
    """Places for `total` tasks at once."""

    def __init__(self, total: int, runtime: Runtime) -> None:
        self._total = total
        self._free = total
        self._runtime = runtime
        self._lock = runtime.lock()
        self._line: deque[_Waiter] = deque()
        self._closed = False

    @property
    def contended(self) -> bool:
        """Whether somebody waits for a place: then nobody should sit on one through a long poll."""
        with self._lock:
            return bool(self._line)

    @property
    def busy(self) -> int:
        """Places that are reserved or worked in."""
        with self._lock:
            return self._total - self._free

    def reserve(self, most: int, timeout: float) -> int:
        """Up to `most` places, at least one after waiting in line; 0 after `timeout` seconds or once closed."""
        with self._lock:
            if self._closed:
                return 0
            if self._free:  # then nobody waits: freed places are handed on before they count as free
                taken = min(most, self._free)
                self._free -= taken
                return taken
            waiter = _Waiter(self._runtime.event())
            self._line.append(waiter)
        waiter.event.wait(timeout)
        with self._lock:
            if not waiter.granted and waiter in self._line:
                self._line.remove(waiter)
            return int(waiter.granted)

    def release(self, count: int = 1) -> None:
        """Give places back."""
        with self._lock:
            self._free += count
            while self._free and self._line:
                waiter = self._line.popleft()
                waiter.granted = True
                self._free -= 1
                waiter.event.set()

    def close(self) -> None:
        """Nobody gets a place any more; who waits is sent away."""
        with self._lock:
            self._closed = True
            for waiter in self._line:
                waiter.event.set()
            self._line.clear()
