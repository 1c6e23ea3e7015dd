"""Foreign text made safe to store, to log and to show."""

from __future__ import annotations

import unicodedata

MAX_TEXT = 2_000
"""Characters of a foreign text that are kept in a document."""


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """One line without control, direction or surrogate characters, at most `limit` long.

    A lone surrogate cannot be stored at all, a newline forges a second log
    line, an escape sequence repaints a terminal.
    """
    kept = text[: 4 * limit]
    line = "".join(" " if _separates(char) else char if _plain(char) else "\N{REPLACEMENT CHARACTER}" for char in kept)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _separates(char: str) -> bool:
    return char in "\t\r\n\v\f\x85\u2028\u2029"


def _plain(char: str) -> bool:
    """Neither control, format, surrogate, private nor unassigned."""
    return not unicodedata.category(char).startswith("C")
