"""`mos missions` and `mos run`: the missions, here and now, without Prefect."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mos.bootstrap import MISSIONS
from mos.cli.connection import DEFAULT_STATE, Json, StateDir, join
from mos.cli.exits import CommandError, Exit
from mos.missions.base import run as run_mission
from mos.store.missions import Heartbeat, read_heartbeats


def missions(*, state_dir: StateDir = DEFAULT_STATE, as_json: Json = False) -> int:
    """The missions, when they last ran, and what they did.

    Example: mos missions
    """
    app = join(state_dir)
    beats = read_heartbeats(app.firestore)
    rows = [_row(name, beats.get(name, Heartbeat())) for name in app.missions]
    if as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return Exit.OK
    table = Table("mission", "last started", "last finished", "what it did", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row["mission"], row["lastStartedAt"] or "never", row["lastFinishedAt"] or "never", row["lastResult"]
        )
    Console().print(table)
    return Exit.OK


def run(
    mission: Annotated[str, typer.Argument(help="The mission's name; `mos missions` lists them.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and write nothing at all.")] = False,
    state_dir: StateDir = DEFAULT_STATE,
    as_json: Json = False,
) -> int:
    """Run one mission here, without Prefect. Exit 1 when one of its passes failed.

    Example: mos run reaper --dry-run
    """
    if mission not in MISSIONS:
        raise CommandError(f"there is no mission {mission}; there are: {', '.join(MISSIONS)}", Exit.USAGE)
    report = run_mission(join(state_dir).missions[mission](), dry_run=dry_run)
    if as_json:
        document = {
            "mission": report.mission,
            "dryRun": report.dry_run,
            "summary": report.summary,
            "acts": report.rows(),
            "failedPasses": list(report.failed_passes),
        }
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        _show(report.rows(), report.summary)
    return Exit.FAILED if report.failed_passes else Exit.OK


def _row(name: str, beat: Heartbeat) -> dict[str, str]:
    started, finished = beat.last_started_at, beat.last_finished_at
    return {
        "mission": name,
        "lastStartedAt": started.isoformat(timespec="seconds") if started else "",
        "lastFinishedAt": finished.isoformat(timespec="seconds") if finished else "",
        "lastResult": beat.last_result,
    }


def _show(rows: list[dict[str, str]], summary: str) -> None:
    console = Console()
    if rows:
        table = Table(*rows[0], box=None, pad_edge=False)
        for row in rows:
            table.add_row(*row.values())
        console.print(table)
    console.print(summary, highlight=False)


COMMANDS = (missions, run)
