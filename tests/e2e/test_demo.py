"""The demo as a person runs it: interrupted in the middle, then once more to its end, from the same state."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(420)]
COMMAND = [sys.executable, "-m", "mos.cli", "demo", "--jobs", "3", "--state-dir"]


def stack_processes(state: Path) -> list[str]:
    """Everything that belongs to a stack of this directory, wherever it hides."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("MOS_SCRATCH", "").startswith(str(state)):
                mark = process.environ().get("MOS_STACK_MARK", "no mark")
                found.append(f"{process.pid} ({process.status()}, {mark}): {' '.join(process.cmdline())}")
    return found


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / ".mos"


def start(state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, str(state)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_the_demo_survives_ctrl_c_and_then_recovers_everything(state: Path) -> None:
    """Ctrl-C in the middle leaves no process; the next run ends with nothing lost and nothing done twice."""
    with start(state) as interrupted:
        assert interrupted.stdout is not None
        for line in interrupted.stdout:
            if "fault:" in line:
                break
        assert stack_processes(state)
        interrupted.send_signal(signal.SIGINT)
        rest = interrupted.stdout.read()
        assert interrupted.wait(timeout=60) == 130, rest
    assert "Traceback" not in rest
    assert stack_processes(state) == []

    with start(state) as whole:
        assert whole.stdout is not None
        text = whole.stdout.read()
        assert whole.wait(timeout=60) == 0, text
    assert stack_processes(state) == []
    said = dict(re.split(r" {2,}", line, maxsplit=1) for line in _figures(text))
    assert said == {
        "jobs completed": "3 of 3",
        "faults injected": "4",
        "faults recovered": "4",
        "lost": "0",
        "duplicated effects": "0",
    }


def _figures(text: str) -> list[str]:
    names = ("jobs completed", "faults injected", "faults recovered", "lost", "duplicated effects")
    return [line.strip() for line in text.splitlines() if line.startswith(names)]
