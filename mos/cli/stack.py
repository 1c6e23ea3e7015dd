"""`mos up`, `mos down`, `mos status`: the local stack."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mos.cli.exits import CommandError, Exit
from mos.local.stack import StackOptions, build_supervisor
from mos.local.supervisor import Down, StackRecord, run_foreground, running, start_detached, stop_detached

StateDir = Annotated[Path, typer.Option("--state-dir", help="Where state and logs are kept.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
DEFAULT_STATE = Path(".mos")
START_TIMEOUT = 240.0


def up(
    *,
    state_dir: StateDir = DEFAULT_STATE,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return when everything is ready.")] = False,
    time_scale: Annotated[
        float,
        typer.Option(
            help="Multiplies every duration of the rules; 0.0167 turns minutes into seconds.", min=1e-3, max=1
        ),
    ] = 1.0,
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1, max=16)] = 2,
    prefect_port: Annotated[
        int, typer.Option(help="Port of the Prefect UI; 0 picks a free one.", min=0, max=65535)
    ] = 0,
) -> int:
    """Start the local stack: state, queues, Prefect and workers. Ctrl-C ends all of it.

    Example: mos up --detach, then mos submit photo.jpg
    """
    options = StackOptions(state_dir=state_dir, time_scale=time_scale, workers=workers, prefect_port=prefect_port)
    if not detach:
        return run_foreground(build_supervisor(options), on_up=lambda record: show(record, as_json=False))
    command = [sys.executable, "-m", "mos.cli", "up", "--state-dir", str(state_dir), "--time-scale", str(time_scale)]
    command += ["--workers", str(workers), "--prefect-port", str(prefect_port)]
    show(start_detached(command, state_dir, timeout=START_TIMEOUT), as_json=False)
    return Exit.OK


def down(*, state_dir: StateDir = DEFAULT_STATE) -> int:
    """Stop the local stack, and whatever a killed one left behind.

    Example: mos down
    """
    text = {
        Down.ENDED: "the stack has ended",
        Down.LEFTOVERS: "what a killed stack had left running has been ended",
        Down.NOTHING: "no stack is running here",
    }
    Console().print(text[stop_detached(state_dir, timeout=60)])
    return Exit.OK


def status(*, state_dir: StateDir = DEFAULT_STATE, as_json: Json = False) -> int:
    """What is running, and where. Exit 69 when no stack runs.

    Example: mos status --json
    """
    record = running(state_dir)
    if record is None:
        raise CommandError(f"no stack is running in {state_dir}; start one with: mos up --detach", Exit.UNREACHABLE)
    show(record, as_json=as_json)
    return Exit.OK if record.up else Exit.UNREACHABLE


def show(record: StackRecord, *, as_json: bool) -> None:
    """The parts and their addresses."""
    if as_json:
        parts = {
            p.name: {"phase": str(p.phase), "pid": p.pid, "restarts": p.restarts, "address": p.address}
            for p in record.parts
        }
        sys.stdout.write(json.dumps({"up": record.up, "parts": parts, "addresses": dict(record.addresses)}) + "\n")
        return
    table = Table("part", "state", "pid", "restarts", "address", box=None, pad_edge=False)
    for part in record.parts:
        table.add_row(part.name, str(part.phase), str(part.pid or ""), str(part.restarts), part.address or "")
    Console().print(table)
    api = record.addresses.get("PREFECT_API_URL")
    if api is not None:
        Console().print(f"Prefect UI: {api.removesuffix('/api')}", highlight=False)


COMMANDS = (up, down, status)
