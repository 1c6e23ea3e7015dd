"""How a part shows that it is ready."""

from __future__ import annotations

import re
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PROBE_TIMEOUT = 1.0
_BAD_STATUS = 500


@dataclass(frozen=True)
class LogLine:
    """Ready when a line of the part's output matches this regular expression."""

    pattern: str


@dataclass(frozen=True)
class HttpAnswers:
    """Ready when a GET of this loopback address answers with a status below 500."""

    url: str


@dataclass(frozen=True)
class PortOpen:
    """Ready when this loopback port accepts a connection."""

    port: int
    host: str = "127.0.0.1"


@dataclass(frozen=True)
class Finishes:
    """A step, not a service: ready when the process has ended with exit code 0, and not started again."""


Ready = LogLine | HttpAnswers | PortOpen | Finishes | Callable[[], bool]
"""A callable is asked about every 50 ms by the supervisor's thread: it answers at once and raises nothing."""


def is_ready(ready: Ready, output: Callable[[], str]) -> bool:
    """Ask once. `output` gives what the part has written since it was started."""
    match ready:
        case LogLine(pattern):
            return re.search(pattern, output(), re.MULTILINE) is not None
        case HttpAnswers(url):
            return _answers(url)
        case PortOpen(port, host):
            return _accepts(host, port)
        case Finishes():
            return False  # the exit code decides, see machine.py
        case _:
            return ready()


def output_since(log: Path, offset: int) -> str:
    """What `log` holds after `offset` bytes."""
    with log.open("rb") as file:
        file.seek(offset)
        return file.read().decode(errors="replace")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PROBE_TIMEOUT) as answer:  # noqa: S310 - a loopback address of ours
            return int(answer.status) < _BAD_STATUS
    except urllib.error.HTTPError as error:
        return error.code < _BAD_STATUS
    except (OSError, ValueError):
        return False


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_PROBE_TIMEOUT):
            return True
    except OSError:
        return False
