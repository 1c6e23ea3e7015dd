"""`mos pipeline check` and `mos indexes`: files that other tools read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mos.bootstrap import check_handlers
from mos.cli.exits import CommandError, Exit
from mos.domain.errors import SettingsError
from mos.domain.pipeline import Pipeline, parse_pipeline
from mos.store.indexes import render

pipeline = typer.Typer(help="Pipeline files.", no_args_is_help=True)


@pipeline.command()
def check(file: Annotated[Path, typer.Argument(help="The pipeline.toml to check.")]) -> int:
    """Check a pipeline file: times-to-live, names, chains, and that every handler imports.

    Example: mos pipeline check pipeline.toml
    """
    if not file.exists():
        raise CommandError(f"{file} does not exist; name a pipeline.toml", Exit.NOT_FOUND)
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is not a text file in UTF-8") from error
    checked = parse_pipeline(text, source=str(file))
    check_handlers(checked)
    _show(checked)
    return Exit.OK


def _show(checked: Pipeline) -> None:
    table = Table(
        "step", "queue", "visibility", "running TTL", "pickup TTL", "receives", "re-runnable", "handler", box=None
    )
    for step in checked.steps.values():
        ttl = (str(step.running_ttl), str(step.pickup_ttl)) if not step.messages_only else ("–", "–")
        table.add_row(
            step.name,
            step.queue,
            str(step.visibility),
            *ttl,
            str(step.max_receives),
            "yes" if step.rerunnable else "no",
            step.handler or "–",
        )
    Console().print(table)
    for name, kind in checked.kinds.items():
        Console().print(f"{name}: {' → '.join((*kind.chain, *kind.finish))}")


def indexes() -> int:
    """Print firestore.indexes.json, generated from the declared queries.

    Example: mos indexes > firestore.indexes.json
    """
    sys.stdout.write(render())
    return Exit.OK


COMMANDS = (indexes,)
