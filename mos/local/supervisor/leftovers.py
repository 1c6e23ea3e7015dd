"""What a killed supervisor left running."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

from mos.local.supervisor import record
from mos.local.supervisor.ending import end_all
from mos.local.supervisor.identity import is_running
from mos.local.supervisor.layout import stack_file
from mos.local.supervisor.process import mark_of

_GRACE = 3.0


def end_leftovers(state_dir: Path) -> int:
    """End what an earlier stack in `state_dir` left running, and its record. Returns how many processes that were.

    The caller holds the lock, so the earlier supervisor is dead. A recorded
    pid that now belongs to another program is left alone.
    """
    left = record.read(stack_file(state_dir))
    roots = [p for part in (left.parts if left else ()) if (p := _recorded(part)) is not None]
    ended = end_all(roots, marks=[mark_of(state_dir)], timeout=_GRACE)
    stack_file(state_dir).unlink(missing_ok=True)
    return len(ended.asked | ended.killed)


def _recorded(part: record.PartRecord) -> psutil.Process | None:
    if part.pid is None or part.identity is None or not is_running(part.pid, part.identity):
        return None
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(part.pid)
    return None
