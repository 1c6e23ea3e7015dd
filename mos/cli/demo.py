"""`mos demo`: the main job, with faults, on the local stack (§5.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mos.cli.exits import Exit
from mos.local.demo.run import Interrupted, run_demo


def demo(
    *,
    jobs: Annotated[int, typer.Option(help="How many jobs of four images each.", min=1, max=50)] = 6,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stack running at the end, until Ctrl-C.")] = False,
    state_dir: Annotated[Path, typer.Option("--state-dir", help="Where state and logs are kept.")] = Path(".mos/demo"),
) -> int:
    """Run real jobs with real faults; exit 0 only if everything was recovered.

    Example: mos demo --keep
    """
    try:
        good = run_demo(state_dir=state_dir, jobs=jobs, keep=keep, console=_console())
    except Interrupted:
        raise typer.Abort from None
    return Exit.OK if good else Exit.FAILED


def _console() -> Console:
    """Wide where nobody's terminal sets the width, so that ids stay whole."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


COMMANDS = (demo,)
