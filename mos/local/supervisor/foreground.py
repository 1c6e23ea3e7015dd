"""Running a stack until a signal ends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from mos.local.supervisor.errors import StackError
from mos.local.supervisor.record import StackRecord
from mos.local.supervisor.supervisor import Supervisor

READY_VARIABLE = "MOS_STACK_READY_FD"
"""Number of the pipe on which a detached stack tells its starter how the start went (detached.py)."""
INTERRUPTED = 130
"""Exit code after Ctrl-C (specification §4.3)."""
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_foreground(supervisor: Supervisor, *, on_up: Callable[[StackRecord], None]) -> int:
    """Start the stack, call `on_up`, and return the exit code once a signal has ended it.

    Ctrl-C gives 130; SIGTERM (`mos down`) and SIGHUP (a closed terminal) give 0. Only for the main thread. Raises
    StackError if the stack does not come up or breaks.
    """
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        supervisor.request_stop()

    with signals_to(on_signal), _announcing() as announce:
        try:
            record = supervisor.start()
        except StackError:
            if received:
                return _exit_code(received)
            raise
        announce()
        on_up(record)
        supervisor.wait()
    return _exit_code(received)


@contextlib.contextmanager
def signals_to(handler: Callable[[int], None]) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP call `handler` with their number inside the block (main thread only)."""

    def call(number: int, _: FrameType | None) -> None:
        handler(number)

    before = {number: signal.signal(number, call) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _exit_code(received: list[int]) -> int:
    return INTERRUPTED if received[:1] == [signal.SIGINT] else 0


@contextlib.contextmanager
def _announcing() -> Iterator[Callable[[], None]]:
    """Tell the starter of a detached stack, if there is one, that it is up, or the sentence of its failure."""
    number = os.environ.pop(READY_VARIABLE, None)
    if number is None:
        yield lambda: None
        return
    with os.fdopen(int(number), "w") as pipe:

        def announce() -> None:
            pipe.write(json.dumps({"up": True}))
            pipe.close()

        try:
            yield announce
        except StackError as error:
            if not pipe.closed:
                pipe.write(json.dumps({"error": error.message, "exit_code": error.exit_code}))
            raise
