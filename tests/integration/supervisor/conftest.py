"""Tiny real programs to supervise, and a way to wait for a condition."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from mos.local.supervisor import LogLine, Part

SERVICE = "print('up', flush=True); import signal; signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SERVICE
PARENT_OF = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", {child!r}], start_new_session={leaves})
print("child", child.pid, flush=True)
"""


@pytest.fixture
def eventually() -> Callable[..., object]:
    """Wait until a condition holds and return what it gave; fail after `within` seconds."""

    def wait(condition, within=10.0):
        deadline = time.monotonic() + within
        while not (value := condition()):
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)
        return value

    return wait


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """A state directory for one test."""
    return tmp_path / "state"


@pytest.fixture
def part() -> Callable[..., Part]:
    """A part that runs a Python program and is ready when it has printed `up`."""

    def make(name="service", program=SERVICE, **options):
        options.setdefault("ready", LogLine("^up$"))
        options.setdefault("stop_timeout", 5)
        return Part(name=name, argv=[sys.executable, "-S", "-c", program], **options)

    return make


@pytest.fixture
def gone() -> Callable[[int], bool]:
    """Whether a pid has ended (a zombie has)."""

    def check(pid):
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return check


@pytest.fixture
def parent_program() -> Callable[..., str]:
    """A program that starts a child, says its pid, and then serves."""

    def make(*, leaves=False, child=SERVICE, then=SERVICE):
        return PARENT_OF.format(child=child, leaves=leaves) + then

    return make


@pytest.fixture
def child_of() -> Callable[..., int]:
    """The pid of the child that a part's log tells of."""

    def read(record, name="service"):
        lines = record.part(name).log.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("child"))

    return read
