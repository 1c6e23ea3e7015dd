"""A `Runtime` whose clock moves only when somebody sleeps or waits, and whose ids and dice follow a seed.

One thread: `spawn` is refused. What a background thread would do is a timer,
which fires inside the sleep or wait that moves the clock past it.
"""

from __future__ import annotations

import heapq
import queue
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NoReturn

from mos.runtime import Event

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Timer:
    """Something that happens again and again until it is cancelled."""

    def __init__(self, every: float, work: Callable[[], object]) -> None:
        self.every = every
        self.work = work
        self.cancelled = False

    def cancel(self) -> None:
        """Never again."""
        self.cancelled = True


class VirtualRuntime:
    """Deterministic: the same seed and the same calls give the same run. `skew` is added to the host's wall clock."""

    def __init__(self, seed: int = 0, *, skew: timedelta = timedelta()) -> None:
        self._elapsed = 0.0
        self._dice = random.Random(seed)
        self._skew = skew
        self._order = count()
        self._timers: list[tuple[float, int, Timer]] = []

    def server_time(self) -> datetime:
        """The service's clock, which no host's clock touches."""
        return START + timedelta(seconds=self._elapsed)

    def wall(self) -> datetime:
        """The host's idea of the time."""
        return self.server_time() + self._skew

    def monotonic(self) -> float:
        """Virtual seconds since the start."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Move the clock; timers that come due fire on the way, each at its own time."""
        end = self._elapsed + max(0.0, seconds)
        while self._timers and self._timers[0][0] <= end:
            at, _, timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._elapsed = max(self._elapsed, at)
            timer.work()
            heapq.heappush(self._timers, (self._elapsed + timer.every, next(self._order), timer))
        self._elapsed = max(self._elapsed, end)

    def every(self, seconds: float, work: Callable[[], object]) -> Timer:
        """Do `work` each time so many seconds have passed."""
        timer = Timer(seconds, work)
        heapq.heappush(self._timers, (self._elapsed + seconds, next(self._order), timer))
        return timer

    def new_id(self) -> str:
        """An id of 32 hexadecimal digits that follows the seed."""
        return f"{self._dice.getrandbits(128):032x}"

    def uniform(self, low: float, high: float) -> float:
        """A number that follows the seed."""
        return self._dice.uniform(low, high)

    def lock(self) -> AbstractContextManager[Any]:
        """Nothing to exclude: there is one thread."""
        return nullcontext()

    def event(self) -> Event:
        """A flag; waiting for it moves the clock."""
        return VirtualEvent(self)

    def queue(self) -> queue.Queue[Any]:
        """A plain queue."""
        return queue.Queue()

    def spawn(self, work: Callable[[], None], *, name: str) -> NoReturn:
        """Refused: use a timer."""
        raise NotImplementedError(f"{name}: there is one thread here; use every() for {work}")


class VirtualEvent:
    """A flag of a `VirtualRuntime`."""

    def __init__(self, runtime: VirtualRuntime) -> None:
        self._runtime = runtime
        self._set = False

    def set(self) -> None:
        """Raise the flag."""
        self._set = True

    def clear(self) -> None:
        """Lower the flag."""
        self._set = False

    def is_set(self) -> bool:
        """Whether it is up."""
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        """Whether the flag is up, after letting `timeout` pass if it was not.

        Raises:
            RuntimeError: nobody could ever raise it.
        """
        if not self._set and timeout is None:
            raise RuntimeError("a wait without end for a flag that nobody else can raise")
        if not self._set:
            self._runtime.sleep(timeout or 0.0)
        return self._set
