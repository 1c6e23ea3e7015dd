"""Starting one part's process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mos.local.supervisor.identity import identity_of
from mos.local.supervisor.part import Part
from mos.local.supervisor.probes import is_ready, output_since

MARK_VARIABLE = "MOS_STACK_MARK"
"""Stands in the environment of every process of a stack, so that also those that left their parent, group and
session are found again."""
_FOR_PYTHON = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": None}
"""A part starts again and again: where its imports are not compiled once, that costs seconds each time."""
_LAUNCHER = Path(__file__).with_name("launch.py")


def mark_of(state_dir: Path) -> str:
    """The mark of the stack in this directory; its part `p` has `<mark>/p`."""
    return hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Child:
    """A started part. Its pid is also its process group and session."""

    process: subprocess.Popen[bytes]
    identity: str | None
    log: Path
    offset: int

    def exit_code(self) -> int | None:
        """As `Popen.poll`: None while it runs, negative for a signal."""
        return self.process.poll()

    def is_ready(self, part: Part) -> bool:
        """Ask the part's probe once."""
        return is_ready(part.ready, lambda: output_since(self.log, self.offset))


def spawn(part: Part, *, mark: str, log: Path) -> Child:
    """Start `part` in its own session with clean signals, both output streams appended to `log`.

    The output goes to the file directly, so that the death of the supervisor
    takes nobody's standard output away.
    """
    with log.open("ab") as stream:
        offset = stream.tell()
        process = launch(part.argv, env=_environment(part, mark), cwd=part.cwd, stream=stream.fileno())
    return Child(process=process, identity=identity_of(process.pid), log=log, offset=offset)


def launch(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    stream: int,
    cwd: Path | None = None,
    die_with_us: bool = True,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a command through the launcher (see launch.py), without standard input."""
    parent = os.getpid() if die_with_us else 0
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(_LAUNCHER), str(parent), *argv],
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=stream,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def _environment(part: Part, mark: str) -> dict[str, str]:
    merged: dict[str, str | None] = {**os.environ, **_FOR_PYTHON, **part.env}
    merged[MARK_VARIABLE] = f"{mark}/{part.name}"
    return {name: value for name, value in merged.items() if value is not None}
