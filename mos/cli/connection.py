"""Joining a command to the running system: the local stack of this folder, or what the environment names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mos import logs
from mos.bootstrap import App, from_environment
from mos.local.stack import connect

StateDir = Annotated[Path, typer.Option("--state-dir", help="Where the local stack keeps its state.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
DEFAULT_STATE = Path(".mos")


def join(state_dir: Path) -> App:
    """The parts, pointed at the running system.

    Raises:
        StackError: nothing runs here and nothing is configured.
        SettingsError: a setting is wrong.
    """
    logs.configure("mos")
    connect(state_dir)
    return from_environment()
