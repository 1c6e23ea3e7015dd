"""Structured logs: JSON lines on stderr, a readable form on a terminal.

The correlation id is bound for as long as an item is handled (§1.7), so that
it stands in every line without being passed around.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any, TextIO

import structlog

from mos.domain.text import clean


def configure(service: str, *, stream: TextIO | None = None) -> None:
    """Set logging up for this process, once. `service` stands in every line."""
    target = sys.stderr if stream is None else stream
    readable = target.isatty()
    renderer: Any = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer(default=str)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _named(service),
            _one_line,
            *([] if readable else [structlog.processors.format_exc_info]),
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(target),
    )


def _named(service: str) -> structlog.typing.Processor:
    """The service's name stands in every line, whatever thread writes it."""

    def add(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {"service": service, **event}

    return add


def _one_line(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Foreign text must neither forge a second line nor repaint a terminal."""
    return {key: clean(value) if isinstance(value, str) else value for key, value in event.items()}


def logger(name: str) -> Any:
    """A logger whose lines carry what is bound."""
    return structlog.get_logger(source=name)


def bound(**names: str) -> AbstractContextManager[Any]:
    """While it lasts, these names stand in every line of this thread."""
    return structlog.contextvars.bound_contextvars(**names)
