"""Phrases over words instead of regular expressions over characters.

A phrase is a sequence of words. `a|b` are alternatives, `credit*` is a prefix,
`..3` lets up to three words pass, `<cannot>`, `<not>`, `<worker>` and `<work>`
stand for every word that says so. Words are compared whole, so a word boundary
cannot be forgotten, and a phrase never crosses the end of a sentence or line.
Work is bounded by construction: every word is looked up once, and a phrase with
gaps tries at most (gap + 1)^gaps alignments, all constants of this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_WORDS = 8_000
BREAK = "\n"
"""The word that no phrase crosses."""
_PREFIX = 3

_LOW = "a-z\u00df-\u00f6\u00f8-\u00ff\u0100-\u017f"
_WORD = re.compile(
    r"(?P<not>[A-Za-z]{2,10}n't\b)|(?P<br>\n|[.!?;](?=[\s\"'])|[.!?;]$)"
    rf"|[A-Z]{{1,64}}(?=[A-Z][a-z])|[A-Z]{{1,64}}[0-9]{{0,8}}(?![a-z])|[A-Z]?[{_LOW}]{{1,64}}[0-9]{{0,4}}(?![0-9])"
    rf"|[A-Z]?[{_LOW}]{{1,64}}|[0-9]{{1,64}}|[^\W\d_A-Za-z]{{1,64}}"
)

_WAYS = {
    "<cannot>": (
        "cannot|cant|couldnt|wont", "could|can|does|will|did not",
        "unable|failed|failure|fail|fails to", "not ..1 able to",
    ),
    "<not>": ("not|doesnt|isnt|didnt|wasnt|hasnt|dont|never|cannot|arent", "no longer"),
    "<worker>": (
        ("worker|workers|agent|runner|runners|consumer|executor|pod|processor|node|host|container|instance|machine"
        "|scheduler"),
    ),
    "<work>": (
        "job|jobs|task|tasks|activity|workflow|message|item|run|build|work|step|render|request|execution",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Word:
    """A word and where it stands in the text."""

    text: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text, lower case; identifiers fall into their parts. At most `MAX_WORDS`."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        spoken = BREAK if match["br"] is not None else match[0].lower().replace("'", "")
        found.append(Word(spoken, match.start(), match.end()))
        if len(found) == MAX_WORDS:
            break
    return found


@dataclass(frozen=True)
class _Element:
    exact: frozenset[str]
    prefixes: tuple[str, ...]
    gap: int
    """How many words may stand before this one."""

    def fits(self, word: str) -> bool:
        return word in self.exact or (bool(self.prefixes) and word.startswith(self.prefixes))


@dataclass(frozen=True)
class _Phrase:
    label: str
    elements: tuple[_Element, ...]


@dataclass(frozen=True)
class Hit:
    """A phrase that was found: its label and its span in the text."""

    label: str
    start: int
    end: int


class Matcher:
    """Finds many phrases in one pass over the words."""

    def __init__(self, phrases: Iterable[tuple[str, str]]) -> None:
        """Take (label, phrase) pairs."""
        self._exact: dict[str, list[_Phrase]] = {}
        self._prefix: dict[str, list[_Phrase]] = {}
        for label, phrase in phrases:
            for spelling in _spellings(phrase):
                self._add(_Phrase(label, _parse(spelling)))

    def _add(self, phrase: _Phrase) -> None:
        first = phrase.elements[0]
        for word in first.exact:
            self._exact.setdefault(word, []).append(phrase)
        for prefix in first.prefixes:
            self._prefix.setdefault(prefix[:_PREFIX], []).append(phrase)

    def hits(self, words: Sequence[Word]) -> Iterator[Hit]:
        """Every phrase at every place, in the order of the text."""
        for at, word in enumerate(words):
            for phrase in (*self._exact.get(word.text, ()), *self._prefix.get(word.text[:_PREFIX], ())):
                last = _end(phrase.elements, words, at)
                if last is not None:
                    yield Hit(phrase.label, word.start, words[last].end)


def _spellings(phrase: str) -> list[str]:
    """A phrase for each way to say its placeholders."""
    spelled = [phrase]
    for name, ways in _WAYS.items():
        spelled = [p.replace(name, way) for p in spelled for way in (ways if name in p else ("",))]
    return spelled


def _parse(phrase: str) -> tuple[_Element, ...]:
    elements: list[_Element] = []
    gap = 0
    for part in phrase.split():
        if part.startswith(".."):
            gap = int(part[2:])
            continue
        options = part.split("|")
        prefixes = tuple(o[:-1] for o in options if o.endswith("*"))
        elements.append(_Element(frozenset(o for o in options if not o.endswith("*")), prefixes, gap))
        gap = 0
    return tuple(elements)


def _end(elements: Sequence[_Element], words: Sequence[Word], at: int) -> int | None:
    """The index of the last word when the elements fit from `at` on."""
    if not elements[0].fits(words[at].text):
        return None
    if len(elements) == 1:
        return at
    rest = elements[1:]
    for place in range(at + 1, min(at + 2 + rest[0].gap, len(words))):
        last = _end(rest, words, place)
        if last is not None:
            return last
        if words[place].text == BREAK:
            return None
    return None
