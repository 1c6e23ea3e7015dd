"""`python -m mos.local.farm.aerender -project P -output FILE …`: stands in for After Effects' command line.

It prints the lines that nexrender-core reads and writes a tiny real clip of
the images and clips beside the project. The folder in `FARM_SCRIPT` says how
each render goes (see behaviour.py). Its uid is the name of the output's folder,
which is how nexrender lays out its work.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from mos.local.farm import clip
from mos.local.farm.behaviour import DISK_FULL_TEXT, VARIABLE, Act, Behaviour, Script

_LOOK = 0.05
_FIRST_FRAME = 0.1
"""nexrender reads a duration and a progress that arrive together as a duration alone."""
_FRAMES_A_SECOND = 26
_FAILED = 1


def main() -> int:
    """Render once; the exit code is After Effects'."""
    output, project = Path(_option("-output")), Path(_option("-project"))
    uid = output.parent.name
    script = Script(Path(os.environ[VARIABLE])) if VARIABLE in os.environ else None
    behaviour = script.take(uid) if script else Behaviour()
    _note(script, uid, behaviour.act, "started")
    code = _Render(uid, project, output, behaviour, script).run()
    _note(script, uid, behaviour.act, "ended")
    return code


def _option(name: str) -> str:
    try:
        return sys.argv[sys.argv.index(name) + 1]
    except (ValueError, IndexError):
        raise SystemExit(f"aerender ERROR: the option {name} is missing") from None


def _note(script: Script | None, uid: str, act: Act, event: str) -> None:
    if script is not None:
        script.note(uid, act, event)


def _say(text: str) -> None:
    """After Effects goes on when nexrender, which reads its output, was killed."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Render:
    def __init__(self, uid: str, project: Path, output: Path, behaviour: Behaviour, script: Script | None) -> None:
        self._uid = uid
        self._project = project
        self._output = output
        self._behaviour = behaviour
        self._script = script

    def run(self) -> int:
        _say("aerender version 24.0x1\nPROGRESS: Launching After Effects...")
        act = self._behaviour.act
        if act is Act.HANG:
            self._hold()
        _say(f"PROGRESS:  Start: 0:00:00:00\nPROGRESS:  Duration: 0:00:{clip.SECONDS:02d}:00")
        time.sleep(_FIRST_FRAME)
        _say("PROGRESS:  0:00:00:00 (1): 0 Seconds")
        match act:
            case Act.ERROR:
                return self._error(self._behaviour.text)
            case Act.DISK_FULL:
                return self._error(DISK_FULL_TEXT)
            case Act.NOTHING:
                return _FAILED
            case Act.PARTIAL:
                self._torn()
                return _FAILED
            case Act.KILLED:
                self._torn()
                self._die()
            case Act.SLOW:
                self._hold()
        return self._whole()

    def _hold(self) -> None:
        deadline = time.monotonic() + self._behaviour.seconds
        while time.monotonic() < deadline and not (self._script and self._script.released(self._uid)):
            time.sleep(_LOOK)

    def _whole(self) -> int:
        self._output.write_bytes(self._clip())
        for second in range(1, clip.SECONDS):
            _say(f"PROGRESS:  0:00:{second:02d}:00 ({second * _FRAMES_A_SECOND}): 0 Seconds")
        _say("PROGRESS:  Total Time Elapsed: 1 Seconds")
        return 0

    def _torn(self) -> None:
        whole = self._clip()
        self._output.write_bytes(whole[: len(whole) * 2 // 3])

    def _clip(self) -> bytes:
        pictures = [clip.black_picture()] if self._behaviour.act is Act.BLACK else clip.pictures_beside(self._project)
        return clip.encode(pictures or [clip.sample_picture(self._uid)], self._output.suffix.lstrip(".").lower())

    def _error(self, text: str) -> int:
        _say(f"aerender ERROR: {text}")
        return _FAILED

    def _die(self) -> NoReturn:
        _note(self._script, self._uid, self._behaviour.act, "ended")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable after SIGKILL")


if __name__ == "__main__":
    sys.exit(main())
