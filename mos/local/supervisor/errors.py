"""What can go wrong with the stack itself, in sentences that say what to do."""

from __future__ import annotations

from mos.domain.errors import AppError

UNREACHABLE = 69
"""Exit code: a part, a port or a directory that is needed cannot be had (specification §4.3)."""


class StackError(AppError):
    """The stack cannot start, run or stop. `exit_code` is what the command ends with."""

    default_code = "stack_error"

    def __init__(self, message: str, exit_code: int = UNREACHABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
