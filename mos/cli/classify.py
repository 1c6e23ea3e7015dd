"""`mos classify`: why did this fail, and may it be tried again? Reads text or JSON lines, needs no running system."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from mos.cli.exits import CommandError, Exit
from mos.domain.taxonomy import Classification, classify_production_failure

MAX_BYTES = 64 * 1024 * 1024
"""Of a file or of standard input; a log longer than that is cut by hand first."""

Case = tuple[str | Mapping[str, Any], Mapping[str, Any] | None]


def classify(
    file: Annotated[
        str, typer.Argument(help="A file with one error text, or with JSON lines {text, context}; - is standard input.")
    ] = "-",
    *,
    step: Annotated[str | None, typer.Option(help="The step that failed, where the input names none.")] = None,
    template_state: Annotated[
        str | None, typer.Option(help="The template's state, e.g. missing or unpublished, where the input has none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> int:
    """Say which class of failure an error text is, which rule says so, and what it read.

    Example: mos classify worker.log --step template_transfer
    """
    given = {"step": step, "template_state": template_state}
    defaults = {key: value for key, value in given.items() if value is not None}
    for error, context in _cases(_read(file)):
        found = classify_production_failure(error, {**defaults, **(context or {})})
        sys.stdout.write(_line(found) + "\n") if as_json else _show(found)
    return Exit.OK


def _read(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else _head(Path(file))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}", Exit.NOT_FOUND) from error
    if len(raw) > MAX_BYTES:
        raise CommandError(f"{file} is larger than {MAX_BYTES >> 20} MB; cut out the part with the error", Exit.USAGE)
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        raise CommandError("there is no text to classify; name a file, or pipe a text in", Exit.USAGE)
    return text


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _cases(text: str) -> Iterator[Case]:
    """JSON lines when every line is an object with `text` or `error`; else the whole is one error text."""
    lines = [line for line in text.splitlines() if line.strip()]
    parsed = [_case(line) for line in lines]
    known = [case for case in parsed if case is not None]
    if len(known) == len(lines):
        yield from known
    else:
        yield text, None


def _case(line: str) -> Case | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    error = document.get("text", document.get("error"))
    context = document.get("context")
    if not isinstance(error, (str, dict)) or not ("text" in document or "context" in document):
        return None
    return error, context if isinstance(context, dict) else None


def _line(found: Classification) -> str:
    return json.dumps(
        {
            "class": str(found.failure_class), "retryable": found.retryable,
            "rule": found.rule, "evidence": found.evidence,
        },
        ensure_ascii=False,
    )  # fmt: skip


def _show(found: Classification) -> None:
    again = "may be tried again" if found.retryable else "not to be tried again"
    evidence = f"  {found.evidence}" if found.evidence else ""
    Console(soft_wrap=True).print(Text(f"{found.failure_class}  ({again})  {found.rule}{evidence}"))


COMMANDS = (classify,)
