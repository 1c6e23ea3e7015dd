"""One supervisor per state directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mos.local.supervisor.errors import StackError


@contextmanager
def exclusive(path: Path) -> Iterator[int]:
    """Hold the lock file (its descriptor is given); the kernel frees it when we die.

    Raises StackError if another process holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(
                f"a stack is already running from {path.parent}; use it, or end it with `mos down`"
            ) from None
        yield descriptor
    finally:
        os.close(descriptor)


def is_still(path: Path, descriptor: int) -> bool:
    """Whether `path` is still the file we hold: a removed directory protects nobody from a second supervisor."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
