"""`mos firestore …`: looking after a running embedded Firestore server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mos.local.firestore.admin import Admin, AdminError, admin, export_file, import_file

EX_UNAVAILABLE = 69
VARIABLE = "FIRESTORE_EMULATOR_HOST"
app = typer.Typer(help="Look after the embedded Firestore server.", no_args_is_help=True)
Address = Annotated[
    str | None, typer.Option("--address", help=f"host:port of the server (default: ${VARIABLE}).", show_default=False)
]


@app.command()
def stats(address: Address = None) -> None:
    """Documents, transactions under way, and what each caller was billed."""
    with _service(address) as service:
        found = service.stats()
    table = Table(title=f"{found['documents']:,} documents, {found['transactions']} transactions under way")
    for column in ("caller", "reads", "writes", "deletes", "calls"):
        table.add_column(column, justify="left" if column == "caller" else "right")
    for caller, usage in found["callers"].items():
        table.add_row(caller, *(f"{usage[column]:,}" for column in ("reads", "writes", "deletes", "calls")))
    Console().print(table)


@app.command()
def health(address: Address = None) -> None:
    """Exit 0 if the server answers."""
    with _service(address) as service:
        service.healthy()
    typer.echo("serving")


@app.command()
def reset(
    address: Address = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove every document."""
    if not yes:
        typer.confirm("Remove every document of this local server?", abort=True)
    with _service(address) as service:
        removed = service.reset()
    typer.echo(f"{removed} documents removed")


@app.command("export")
def export_documents(path: Annotated[Path, typer.Argument(dir_okay=False)], address: Address = None) -> None:
    """Write every document to a file of JSON lines."""
    with _complaining():
        typer.echo(f"{export_file(_address(address), path)} documents written to {path}")


@app.command("import")
def import_documents(path: Annotated[Path, typer.Argument(dir_okay=False)], address: Address = None) -> None:
    """Write the documents of a file of JSON lines to the server."""
    with _complaining():
        typer.echo(f"{import_file(_address(address), path)} documents imported")


@contextmanager
def _service(address: str | None) -> Iterator[Admin]:
    with _complaining(), admin(_address(address)) as service:
        yield service


@contextmanager
def _complaining() -> Iterator[None]:
    """A failure is one sentence and an exit code, never a traceback."""
    try:
        yield
    except AdminError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EX_UNAVAILABLE) from error


def _address(given: str | None) -> str:
    address = given or os.environ.get(VARIABLE)
    if not address:
        raise AdminError(f"No server is named: give --address host:port or set {VARIABLE}.")
    return address
