"""The command tree, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from mos.cli import classify, demo, documents, jobs, missions, stack
from mos.cli.connection import DEFAULT_STATE
from mos.cli.exits import Exit, exit_code_of, show
from mos.domain.errors import AppError
from mos.local.firestore.cli import app as firestore
from mos.local.supervisor import running

app = typer.Typer(
    name="mos",
    help="The recovery layer that makes silence impossible in a content pipeline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(documents.pipeline, name="pipeline")
app.add_typer(firestore, name="firestore")
COMMANDS = (stack, jobs, missions, demo, classify, documents)
for command in (command for module in COMMANDS for command in module.COMMANDS):
    app.command()(command)


@app.callback()
def _options(
    *, debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False
) -> None:
    """Options of every command."""
    _State.debug = debug


@firestore.callback()
def _local_server() -> None:
    """Look after the embedded Firestore server of this folder's stack, or the one that --address names."""
    record = running(DEFAULT_STATE)
    if record is not None and "FIRESTORE_EMULATOR_HOST" in record.addresses:
        os.environ.setdefault("FIRESTORE_EMULATOR_HOST", record.addresses["FIRESTORE_EMULATOR_HOST"])


# Typer carries its own copy of Click; BadParameter is the public member of its family of usage errors.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]


class _State:
    debug = False


def main() -> None:
    """Entry point of the `mos` command."""
    signal.signal(signal.SIGINT, _interrupted)
    sys.exit(run(sys.argv[1:]))


def _interrupted(_: int, __: FrameType | None) -> NoReturn:
    """Ctrl-C ends the process at once: every write is one commit, and an exception inside gRPC could hang its locks.

    Commands that run a stack put their own handler in place of this one.
    """
    if sys.stderr.isatty():
        sys.stderr.write("\x1b[?25h\n")  # a progress bar hides the cursor
    sys.stderr.write("mos: interrupted\n")
    sys.stderr.flush()
    os._exit(Exit.INTERRUPTED)


def run(arguments: list[str]) -> int:
    """Run one command line; the exit code."""
    _State.debug = "--debug" in arguments
    try:
        outcome = app(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("mos: interrupted\n")
        return Exit.INTERRUPTED
    except UsageError as error:
        error.show()
        return Exit.USAGE
    except AppError as error:
        show(error, debug=_State.debug)
        return exit_code_of(error)
    except Exception as error:  # noqa: BLE001 - a bug: say so, with the way to see more
        show(error, debug=_State.debug)
        sys.stderr.write("mos: this is a bug of mos; run it again with --debug and report what it prints\n")
        return Exit.BUG
    return outcome if isinstance(outcome, int) else Exit.OK
