"""Google's own emulator as an oracle, where it is on the machine (a component of the Google Cloud CLI)."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = "cloud_firestore_emulator"
COMPONENT = Path("platform/cloud-firestore-emulator") / PROGRAM
SDK_FOLDERS = ("/usr/lib/google-cloud-sdk", "/opt/google-cloud-sdk", "/snap/google-cloud-cli/current")
START_SECONDS = 60.0


def find() -> Path | None:
    """The emulator's start script: on PATH, in the Cloud SDK that `gcloud` belongs to, or in its usual folders."""
    if shutil.which("java") is None:
        return None
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    gcloud = shutil.which("gcloud")
    folders = [Path.home() / "google-cloud-sdk", *map(Path, SDK_FOLDERS)]
    if gcloud:
        folders.insert(0, Path(gcloud).resolve().parent.parent)
    return next((folder / COMPONENT for folder in folders if (folder / COMPONENT).exists()), None)


@contextmanager
def running(program: Path) -> Iterator[str]:
    """The emulator in memory on a free port; its address.

    Raises:
        RuntimeError: it did not come up.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(program), "start", "--host=127.0.0.1", f"--port={port}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        _await_port(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("Google's Firestore emulator did not come up.")
