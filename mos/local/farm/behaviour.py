"""What the stand-in After Effects does, as files in one folder: for one uid, for the next render, or by default.

A behaviour for the next render is taken by removing its file, so that two
renders never take the same one. The folder also holds the journal of every
start and end of the stand-in: how a test counts renders.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

VARIABLE = "FARM_SCRIPT"
"""The environment variable that names the folder."""
_JOURNAL = "renders.jsonl"


class Act(StrEnum):
    """How one render goes."""

    OK = "ok"
    SLOW = "slow"
    """It holds after the first frame for `seconds`, or until released."""
    HANG = "hang"
    """It holds before "Start:": a dialog, a licence, a launch that never ends."""
    PARTIAL = "partial"
    """A torn file, exit code 1. nexrender calls that `finished`."""
    KILLED = "killed"
    """A torn file, then SIGKILL. nexrender calls that `finished`."""
    BLACK = "black"
    """A whole file of black frames, exit code 0."""
    ERROR = "error"
    """An error text, no file."""
    DISK_FULL = "disk_full"
    """The error text of a full disk, no file."""
    NOTHING = "nothing"
    """No error and no file."""


DISK_FULL_TEXT = "After Effects error: could not write the output. No space left on device (ENOSPC)"
HELD_SECONDS = 600.0
"""What holds without an end of its own lets go after this long."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """One render's behaviour. `text` is the error text."""

    act: Act = Act.OK
    seconds: float = HELD_SECONDS
    text: str = "After Effects error: the composition could not be found (26 :: 142)"


@dataclass(frozen=True)
class Rendering:
    """One line of the journal: the stand-in started or ended."""

    uid: str
    pid: int
    act: str
    event: str


class Script:
    """The folder, for whoever directs the farm and for the stand-in itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def for_uid(self, uid: str, behaviour: Behaviour) -> None:
        """Every render of this uid behaves so."""
        self._write(f"uid-{uid}", behaviour)

    def next(self, behaviour: Behaviour) -> None:
        """The next render without a behaviour of its own behaves so; several queue up."""
        taken = [int(path.stem.split("-")[1]) for path in self._folder.glob("next-*.json")]
        self._write(f"next-{max(taken, default=0) + 1:06d}", behaviour)

    def default(self, behaviour: Behaviour) -> None:
        """Every other render behaves so."""
        self._write("default", behaviour)

    def release(self, uid: str) -> None:
        """Let a held render of this uid go on."""
        (self._folder / f"release-{uid}").touch()

    def released(self, uid: str) -> bool:
        """Whether it may go on; also when nobody directs it any more."""
        return (self._folder / f"release-{uid}").exists() or not self._folder.is_dir()

    def take(self, uid: str) -> Behaviour:
        """The behaviour of a render that starts now."""
        own = self._folder / f"uid-{uid}.json"
        if own.exists():
            return _read(own)
        for path in sorted(self._folder.glob("next-*.json")):
            with contextlib.suppress(FileNotFoundError):  # another render was first
                behaviour = _read(path)
                path.unlink()
                return behaviour
        default = self._folder / "default.json"
        return _read(default) if default.exists() else Behaviour()

    def note(self, uid: str, act: Act, event: str) -> None:
        """Add a line to the journal; one write, so that lines of two processes never mix."""
        line = json.dumps(asdict(Rendering(uid, os.getpid(), act, event))) + "\n"
        with (self._folder / _JOURNAL).open("a") as journal:
            journal.write(line)

    def journal(self) -> list[Rendering]:
        """Every start and end so far, oldest first."""
        path = self._folder / _JOURNAL
        return [Rendering(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []

    def _write(self, name: str, behaviour: Behaviour) -> None:
        partial = self._folder / f".{name}"
        partial.write_text(json.dumps(asdict(behaviour)))
        partial.rename(self._folder / f"{name}.json")


def _read(path: Path) -> Behaviour:
    raw = json.loads(path.read_text())
    return Behaviour(act=Act(raw["act"]), seconds=float(raw["seconds"]), text=str(raw["text"]))
