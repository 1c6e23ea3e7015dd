"""Starting, finding and ending a stack that runs on without us."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import psutil

from mos.local.supervisor import lock, record
from mos.local.supervisor.ending import end_all
from mos.local.supervisor.errors import StackError
from mos.local.supervisor.foreground import READY_VARIABLE
from mos.local.supervisor.identity import is_running
from mos.local.supervisor.layout import fresh_log, last_lines, lock_file, prepare, stack_file
from mos.local.supervisor.leftovers import end_leftovers
from mos.local.supervisor.process import launch

_LOG_NAME = "supervisor"
_POLL = 0.05
_GRACE = 5.0


class Down(StrEnum):
    """What `stop_detached` found and did."""

    ENDED = "ended"
    LEFTOVERS = "leftovers"
    """The supervisor had been killed; what it left running was ended."""
    NOTHING = "nothing"


def start_detached(argv: Sequence[str], state_dir: Path, *, timeout: float) -> record.StackRecord:
    """Start `argv`, which ends in `run_foreground`, in a session of its own, and wait until its stack is up.

    Raises StackError with that process's own sentence and exit code, or after
    `timeout` seconds (then it is ended).
    """
    prepare(state_dir)
    log = fresh_log(state_dir, _LOG_NAME)
    process, reading = _launch(argv, log)
    try:
        _await_up(reading, timeout, log)
    except BaseException:
        end_all([psutil.Process(process.pid)], marks=[], timeout=_GRACE)
        process.wait()
        raise
    finally:
        os.close(reading)
    process.returncode = 0  # it runs on without us: Popen shall not warn that nobody waited for it
    found = running(state_dir)
    if found is None:
        raise StackError(f"the stack came up and ended at once; see its log {log}")
    return found


def running(state_dir: Path) -> record.StackRecord | None:
    """The stack that runs from `state_dir` now, or None; also None when its supervisor was killed."""
    found = record.read(stack_file(state_dir))
    if found is None or found.supervisor_identity is None:
        return None
    return found if is_running(found.supervisor, found.supervisor_identity) else None


def stop_detached(state_dir: Path, *, timeout: float = 60.0) -> Down:
    """End the stack that runs from `state_dir` (detached or not), or what a killed supervisor left of it.

    A supervisor that does not end within `timeout` seconds is killed. Raises
    StackError if a stack is just starting there.
    """
    if not state_dir.is_dir():
        return Down.NOTHING
    found = running(state_dir)
    if found is not None and found.supervisor_identity is not None:
        _end_supervisor(found.supervisor, found.supervisor_identity, timeout)
    with lock.exclusive(lock_file(state_dir), patience=_GRACE):
        left = end_leftovers(state_dir)
    if found is not None:
        return Down.ENDED
    return Down.LEFTOVERS if left else Down.NOTHING


def _launch(argv: Sequence[str], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    reading, writing = os.pipe()
    environment = {**os.environ, READY_VARIABLE: str(writing)}
    try:
        with log.open("ab") as stream:
            process = launch(argv, env=environment, stream=stream.fileno(), die_with_us=False, pass_fds=[writing])
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process, reading


def _await_up(reading: int, timeout: float, log: Path) -> None:
    if not select.select([reading], [], [], timeout)[0]:
        raise StackError(f"the stack was not up within {timeout:g} s; the end of its log {log}:\n{last_lines(log)}")
    said = os.read(reading, 65536)  # one write of less than a pipe's buffer arrives whole
    if not said:
        raise StackError(f"the stack ended while it started; the end of its log {log}:\n{last_lines(log)}")
    answer = json.loads(said)
    if "error" in answer:
        raise StackError(answer["error"], answer["exit_code"])


def _end_supervisor(pid: int, identity: str, timeout: float) -> None:
    """To the one process alone: it ends its parts in order, and its session may be the user's own shell."""
    for number, patience in ((signal.SIGTERM, timeout), (signal.SIGKILL, _GRACE)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not is_running(pid, identity):
                return
            time.sleep(_POLL)
    raise StackError(f"could not end the stack's supervisor, pid {pid}; end it by hand")
