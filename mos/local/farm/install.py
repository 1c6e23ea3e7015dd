"""The farm's npm packages: installed once on this machine, then found without any network.

They live outside the package, one folder for each lock file, so that a newer
version never meets the packages of an older one, and checkouts share them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mos.local.farm import node
from mos.local.supervisor.errors import StackError

HOME_VARIABLE = "MOS_FARM_HOME"
_SOURCE = Path(__file__).parent
_FILES = ("package.json", "package-lock.json")
_FLAGS = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error")
"""`--legacy-peer-deps`: nexrender-core names every upload and action module there is as a peer, ten times the size."""
_TIMEOUT = 300
_UNREACHABLE = re.compile(
    r"E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH)|network|ERR_SOCKET"
)


def farm_home() -> Path:
    """The folder of this lock file's packages, whether or not they are installed."""
    digest = hashlib.sha256(b"".join((_SOURCE / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(HOME_VARIABLE) or cache / "mos" / "farm") / digest


def install() -> Path:
    """The `node_modules` folder of the farm, installed now if this machine does not have it yet (about ten seconds).

    Safe to call from several processes at once: one installs, the others wait.

    Raises:
        StackError: npm could not install; one sentence that says why and what to do.
    """
    home = farm_home()
    modules = home / "node_modules"
    if modules.is_dir():
        return modules
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _alone(home.with_suffix(".lock")):
            if not modules.is_dir():
                _install_into(home)
    except OSError as error:
        raise StackError(f"the render farm cannot be installed into {home}: {error}; set {HOME_VARIABLE}") from error
    return modules


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_into(home: Path) -> None:
    """Into a folder beside, then renamed: what is there under the final name is whole."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="installing-") as folder:
        for name in _FILES:
            shutil.copy(_SOURCE / name, folder)
        _npm_ci(Path(folder))
        Path(folder).rename(home)
        Path(folder).mkdir()  # what the context removes


def _npm_ci(folder: Path) -> None:
    try:
        done = subprocess.run(
            [*node.npm(), "ci", *_FLAGS],
            cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise StackError(
            f"npm did not install the render farm within {_TIMEOUT} s; check the network and start again"
        ) from error
    if done.returncode != 0:
        raise StackError(_why(done.stderr))


def _why(output: str) -> str:
    lines = [line.removeprefix("npm error").strip() for line in output.splitlines() if line.startswith("npm error")]
    reason = next((line for line in lines if line and not line.startswith("code ")), "npm gave no reason")[:200]
    if _UNREACHABLE.search(output):
        return (
            f"the render farm needs npm packages once, and npm cannot reach its registry ({reason}); "
            "check the network or npm's registry setting and start again"
        )
    return f"npm could not install the render farm: {reason}"
