"""Becomes a part: a clean start for a process, without `preexec_fn` in a threaded parent.

Run as a script (`python -I -S launch.py PARENT_PID COMMAND…`) in a session of
its own. It resets the signals that a shell's `&` or a test runner may have
left ignored, asks the kernel to be killed when its supervisor dies, and then
replaces itself by the command: the pid stays the same.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NOT_RUNNABLE = 127


def reset_signals() -> None:
    """Every signal to its default, none blocked (both are inherited through exec)."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            continue  # the C library keeps a few real-time signals for itself
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def die_with(parent: int) -> None:
    """Be killed when the thread that started us ends (Linux); leave at once if the parent is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the supervisor ended before this part could start")


def main(arguments: list[str]) -> None:
    """`PARENT_PID COMMAND…`; a parent of 0 asks for no death signal."""
    parent, command = int(arguments[0]), arguments[1:]
    reset_signals()
    if parent:
        die_with(parent)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]}: {error.strerror}\n")
        sys.exit(_NOT_RUNNABLE)


if __name__ == "__main__":
    main(sys.argv[1:])
