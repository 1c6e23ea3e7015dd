"""The one door to the host's clock, randomness, ids and threads.

Everything in the product takes a `Runtime`; the simulator and the tests pass
their own, so that a whole scenario runs under a virtual clock and a seed.
"""

from __future__ import annotations

import queue
import random
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Protocol


class Event(Protocol):
    """What the product uses of `threading.Event`."""

    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Joinable(Protocol):
    """A started thread of work."""

    def join(self, timeout: float | None = None) -> None: ...
    def is_alive(self) -> bool: ...


class Runtime(Protocol):
    """Clock, sleep, ids, randomness, locks, threads and queues.

    `wall()` is the host's idea of the time and may be minutes off: it is for
    log lines and file names only. A decision's "now" is the `read_time` of the
    read it rests on (law 8).
    """

    def wall(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...
    def new_id(self) -> str: ...
    def uniform(self, low: float, high: float) -> float: ...
    def lock(self) -> AbstractContextManager[Any]: ...
    def event(self) -> Event: ...
    def queue(self) -> queue.Queue[Any]: ...
    def spawn(self, work: Callable[[], None], *, name: str) -> Joinable: ...


class SystemRuntime:
    """The real one."""

    def wall(self) -> datetime:
        """The host's UTC time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)

    def new_id(self) -> str:
        """A random id of 32 hexadecimal digits."""
        return uuid.uuid4().hex

    def uniform(self, low: float, high: float) -> float:
        """A random number for jitter."""
        return random.uniform(low, high)

    def lock(self) -> AbstractContextManager[Any]:
        """A mutex. No lock is held over an I/O call."""
        return threading.Lock()

    def event(self) -> Event:
        """A flag that threads wait for."""
        return threading.Event()

    def queue(self) -> queue.Queue[Any]:
        """A thread-safe queue."""
        return queue.Queue()

    def spawn(self, work: Callable[[], None], *, name: str) -> Joinable:
        """Start `work` in a daemon thread."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread
