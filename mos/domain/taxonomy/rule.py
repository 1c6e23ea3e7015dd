"""One text rule: phrases that mean a cause, and the words that take the meaning back."""

from __future__ import annotations

from dataclasses import dataclass

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.context import Place


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Phrases that all mean one cause, separated by semicolons (grammar: `phrases.py`).

    `unless` lists false friends: where one of these phrases stands anywhere in
    the text, the rule is silent. `native` are substrings for languages that do
    not separate words. A rule with `places` is read only there: words that are
    too weak to decide elsewhere.
    """

    name: str
    cause: Cause
    rank: Rank
    phrases: str
    unless: str = ""
    native: str = ""
    places: frozenset[Place] = frozenset(Place)


def listed(block: str) -> tuple[str, ...]:
    """The entries of a block, each with single spaces."""
    return tuple(" ".join(entry.split()) for entry in block.split(";") if entry.strip())
