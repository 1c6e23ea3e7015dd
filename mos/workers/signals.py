"""SIGTERM and SIGINT as something to wait for, without running code inside a signal handler."""

from __future__ import annotations

import select
import signal
import socket
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """While entered, the signals arrive through `wait`. Only in the main thread."""

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._before: dict[signal.Signals, Any] = {number: signal.signal(number, _ignore) for number in SIGNALS}
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def wait(self, timeout: float) -> str | None:
        """The name of a signal that arrived within `timeout` seconds."""
        ready, _, _ = select.select([self._reader], [], [], timeout)
        if not ready:
            return None
        numbers = [number for number in self._reader.recv(1) if number in set(SIGNALS)]
        return signal.Signals(numbers[0]).name if numbers else None


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor tells; nothing is done here."""
