"""From an error of any shape to one normalised, masked text with its slots.

A mapping is written out as `key: value` with its nesting kept in braces, so
that one reader serves both a provider's structured answer and a log line that
contains one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mos.domain.taxonomy.mask import masked
from mos.domain.taxonomy.normalise import MAX_CHARS, clean, cut, unescape, without_markup
from mos.domain.taxonomy.phrases import Word, words_of
from mos.domain.taxonomy.slots import Depths, Slot, keyed, statuses

MAX_DEPTH = 40
MAX_NODES = 2_000
_IGNORED = frozenset(
    {"retryable", "failureclass", "class", "attempt", "attempts", "timestamp", "createdat", "updatedat"}
)
"""What an earlier judgement or a clock wrote is no evidence of the cause."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything the rules may read."""

    text: str
    words: tuple[Word, ...]
    statuses: tuple[Slot, ...]
    slots: tuple[Slot, ...]
    depths: Depths


def facts_of(error: object) -> Facts:
    """Normalise an error. Never raises; work is bounded by the limits of the package."""
    text = error if isinstance(error, str) else "".join(_written(error))
    readable = prepare(text)
    depths = Depths(readable)
    return Facts(
        text=readable,
        words=tuple(words_of(readable)),
        statuses=tuple(statuses(readable, depths)),
        slots=tuple(keyed(readable, depths)),
        depths=depths,
    )


def prepare(text: str) -> str:
    """Clean, resolve escapes and mark-up, mask; again cut, as resolving an entity may lengthen a text."""
    cleaned = clean(_without_judgements(text))
    return cut(masked(without_markup(unescape(cleaned))))


def _without_judgements(text: str) -> str:
    """A text that is one JSON document is read like a mapping; any other stays as it is."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or len(stripped) > MAX_CHARS:
        return text
    try:
        document = json.loads(stripped)
    except (ValueError, RecursionError):
        return text
    return "".join(_written(document)) if isinstance(document, (dict, list)) else text


def _written(value: object) -> Iterator[str]:
    budget = [MAX_NODES]
    yield from _node(value, 0, budget)


def _node(value: object, depth: int, budget: list[int]) -> Iterator[str]:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from _mapping(value, depth, budget)
    elif isinstance(value, (list, tuple)):
        yield from _items(value, depth, budget)
    else:
        yield _scalar(value)


def _mapping(value: Mapping[Any, Any], depth: int, budget: list[int]) -> Iterator[str]:
    yield "{\n"
    for key, inner in value.items():
        name = key if isinstance(key, str) else _scalar(key)
        if "".join(c for c in name.lower() if c.isalnum()) in _IGNORED or budget[0] < 0:
            continue
        yield f'"{name[:200]}": '
        yield from _quoted(inner, depth, budget)
        yield ",\n"
    yield "}\n"


def _quoted(inner: object, depth: int, budget: list[int]) -> Iterator[str]:
    if isinstance(inner, str) and not inner.lstrip().startswith(("{", "[")):
        yield f'"{inner[:MAX_CHARS]}"'
        return
    yield from _node(inner, depth + 1, budget)


def _items(value: Iterable[object], depth: int, budget: list[int]) -> Iterator[str]:
    for inner in value:
        if budget[0] < 0:
            return
        yield from _node(inner, depth + 1, budget)
        yield "\n"


def _scalar(value: object) -> str:
    match value:
        case str():
            return cut(value)
        case bytes():
            return value[:MAX_CHARS].decode("utf-8", "replace")
        case Enum():
            return _scalar(value.value) if isinstance(value.value, (str, int)) else value.name
        case bool() | None | float():
            return str(value)
        case int():
            return str(value) if value.bit_length() < _LARGEST_BITS else "maskedid"
        case KeyError():
            return type(value).__name__  # its text is the name of a key, not a story
        case BaseException():
            return f"{type(value).__name__}: {_said(value)}"
        case _:
            return type(value).__name__


_LARGEST_BITS = 256


def _said(error: BaseException) -> str:
    """The strings an exception was made with; its own `__str__` may do anything."""
    return " ".join(a[:MAX_CHARS] for a in error.args if isinstance(a, str))
