"""A farm for tests: the real server and workers as processes that can be killed, restarted and directed.

For render suites of every kind; `Farm` ends everything that it started, the
stand-in After Effects of a killed worker too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from mos.local.farm.behaviour import VARIABLE, Script
from mos.local.farm.parts import SECRET, SECRET_VARIABLE
from mos.local.supervisor import free_port

_POLL = 0.02
PATIENCE = 30.0
"""Seconds that a condition may take on a busy machine."""


def wait_until(condition: Callable[[], bool], what: str, *, timeout: float = PATIENCE) -> None:
    """Ask until it is so.

    Raises:
        TimeoutError: names what did not happen.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout} s: {what}")
        time.sleep(_POLL)


class Farm:
    """One server, some workers, in one folder."""

    def __init__(self, folder: Path, *, polling_ms: int = 50) -> None:
        self._folder = folder
        self._polling_ms = polling_ms
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None
        self._started: list[subprocess.Popen[bytes]] = []
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self.script = Script(folder / "script")
        self.url = f"http://127.0.0.1:{self._port}"
        self.secret = SECRET
        self.database = folder / "database.json"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill everything that this farm started, orphans included."""
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def start_server(self) -> None:
        """The server, ready. A second call after `stop_server` uses the same port and file."""
        argv = ["server", "--port", str(self._port), "--database", str(self.database)]
        self._server = self._start("server", argv, "farm server ready")

    def stop_server(self) -> None:
        """Kill the server and wait for its end."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def start_worker(self, name: str) -> subprocess.Popen[bytes]:
        """A worker, ready. Its pid is node's; its aerender is in its process group."""
        argv = ["worker", "--server", self.url, "--name", name, "--work", str(self.work(name))]
        self._workers[name] = self._start(name, [*argv, "--polling-ms", str(self._polling_ms)], "farm worker ready")
        return self._workers[name]

    def worker(self, name: str) -> subprocess.Popen[bytes]:
        """A worker that was started."""
        return self._workers[name]

    def work(self, name: str) -> Path:
        """The folder of one host."""
        return self._folder / "hosts" / name

    def log(self, name: str) -> str:
        """What the server or a worker has written."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def job(self, uid: str, *, output: Path, assets: Sequence[Path] = ()) -> dict[str, Any]:
        """A job whose result is copied to `output`."""
        template = self._folder / "template.aepx"
        template.touch()
        return {
            "uid": uid,
            "template": {
                "src": template.as_uri(), "name": template.name, "composition": "main",
                "outputModule": "h264", "outputExt": "mp4",
            },
            "assets": [_asset(number, path) for number, path in enumerate(assets, 1)],
            "actions": {"postrender": [{"module": "@nexrender/action-copy", "output": str(output)}]},
        }  # fmt: skip

    def starts(self, uid: str) -> int:
        """How often the stand-in After Effects was started for this uid."""
        return sum(line.uid == uid and line.event == "started" for line in self.script.journal())

    def _start(self, name: str, argv: Sequence[str], ready: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{name}.log"
        with log.open("ab") as stream:
            before = stream.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "mos.local.farm", *argv],
                stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=self._environment(), start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        wait_until(
            lambda: ready in log.read_bytes()[before:].decode(errors="replace") or process.poll() is not None,
            f"{name} is not ready: {log.read_text(errors='replace')[-500:]}",
        )
        if process.poll() is not None:
            raise ChildProcessError(f"{name} ended with {process.returncode}: {log.read_text(errors='replace')[-500:]}")
        return process

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, SECRET_VARIABLE: self.secret, VARIABLE: str(self._folder / "script")}


def _asset(number: int, path: Path) -> dict[str, str]:
    name = f"{number:03d}-{path.name}"
    return {"type": "image", "src": path.as_uri(), "name": name, "layerName": f"shot-{number}"}


@contextlib.contextmanager
def running_farm(folder: Path, *workers: str) -> Iterator[Farm]:
    """A farm with its server and these workers."""
    folder.mkdir(parents=True, exist_ok=True)
    with Farm(folder) as farm:
        farm.start_server()
        for name in workers:
            farm.start_worker(name)
        yield farm
