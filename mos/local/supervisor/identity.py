"""Which process a pid meant, so that a reused pid is never mistaken for it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def identity_of(pid: int) -> str | None:
    """A string that no other process ever shares, or None if `pid` is gone or a zombie.

    On Linux: the boot's id and the start time in clock ticks, both exact and
    deaf to changes of the host's clock. Elsewhere: psutil's creation time.
    """
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return None
        return _linux_identity(pid) or f"epoch:{psutil.Process(pid).create_time():.2f}"
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None


def is_running(pid: int, identity: str) -> bool:
    """Whether the process that had this identity still runs."""
    return identity_of(pid) == identity


def _linux_identity(pid: int) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        # The name in parentheses may hold spaces and parentheses: cut after the last one.
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return f"{_BOOT_ID.read_text().strip()}:{after_name[19]}"
    return None
