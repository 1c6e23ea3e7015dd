"""Exit codes of the command line and how an error reaches a person: one sentence, never a traceback."""

from __future__ import annotations

import sys
import traceback
from enum import IntEnum

from mos.domain.errors import AppError, ConflictError, ExternalServiceError, SettingsError, ValidationError


class Exit(IntEnum):
    """The command's own failures (§4.3). `--json` never changes a code."""

    OK = 0
    FAILED = 1
    USAGE = 64
    NOT_FOUND = 66
    UNREACHABLE = 69
    BUG = 70
    NOT_ALLOWED = 77
    INTERRUPTED = 130


class CommandError(AppError):
    """A command cannot go on; `exit_code` says why."""

    default_code = "command"

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def exit_code_of(error: AppError) -> int:
    """The exit code that fits an error."""
    declared = getattr(error, "exit_code", None)
    if declared is not None:
        return int(declared)
    match error:
        case ValidationError() | SettingsError() | ConflictError():
            return Exit.USAGE
        case ExternalServiceError():
            return Exit.UNREACHABLE
        case _:
            return Exit.FAILED


def show(error: BaseException, *, debug: bool) -> None:
    """One sentence on standard error; the traceback only with `--debug`."""
    if debug:
        traceback.print_exception(error)
    text = error.message if isinstance(error, AppError) else f"{type(error).__name__}: {error}"
    sys.stderr.write(f"mos: {text}\n")
