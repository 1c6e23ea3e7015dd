"""One supervisor per state directory."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mos.local.supervisor.errors import StackError

_POLL = 0.02


@contextmanager
def exclusive(path: Path, *, patience: float = 0.5) -> Iterator[int]:
    """Hold the lock file (its descriptor is given); the kernel frees it when we die.

    Raises StackError if another process holds it for longer than `patience`
    seconds: a killed process frees it only when the last of its threads is gone.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _acquire(descriptor, path, deadline=time.monotonic() + patience)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, *, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StackError(
                    f"a stack is already running from {path.parent}; use it, or end it with `mos down`"
                ) from None
            time.sleep(_POLL)


def is_still(path: Path, descriptor: int) -> bool:
    """Whether `path` is still the file we hold: a removed directory protects nobody from a second supervisor."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
