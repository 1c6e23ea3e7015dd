"""All evidence in the facts: codes, statuses, numbers, texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from mos.domain.taxonomy import bugs, host, media, places, provider, refusal, stranded, template, transfer
from mos.domain.taxonomy.causes import Cause, Finding, Rank
from mos.domain.taxonomy.codes import CODES, plain
from mos.domain.taxonomy.context import Place
from mos.domain.taxonomy.facts import Facts
from mos.domain.taxonomy.numbers import number_findings
from mos.domain.taxonomy.phrases import Matcher
from mos.domain.taxonomy.rule import Rule, listed
from mos.domain.taxonomy.slots import Slot, is_code_key

RULES: tuple[Rule, ...] = tuple(
    chain(
        host.RULES,
        transfer.RULES,
        provider.RULES,
        refusal.RULES,
        stranded.RULES,
        template.RULES,
        media.RULES,
        bugs.RULES,
        places.RULES,
    )
)
"""Every text rule. Their order decides nothing: rank, permanence, depth and place do."""
_BY_NAME = {rule.name: rule for rule in RULES}
_PHRASES = Matcher((rule.name, phrase) for rule in RULES for phrase in listed(rule.phrases))
_EXCEPTIONS = Matcher((rule.name, phrase) for rule in RULES for phrase in listed(rule.unless))
_NATIVE = tuple((rule, listed(rule.native)) for rule in RULES if rule.native)

_BUG = bugs.PROGRAM
"""A `TypeError: fetch failed` is the network's: what takes the rule back takes the exception's type back too."""
_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w{1,99}(?:[./-][A-Za-z_]\w{0,99}){0,6}")
_EXCEPTION_SUFFIX = ("Exception", "Error", "Fault")
_SHORTEST_UPPER = 4
_PROSE_KEYS = frozenset({"error", "err", "exception", "failure", "kind"})
_ENDS = frozenset({"", *"\"',;)}]>\n"})

_TIMEOUT_STATUSES = frozenset({408, 504, 522, 524, 598, 599})
_STATUS_CAUSES = {
    402: Cause.FUNDS, 404: Cause.OBJECT_MISSING, 410: Cause.OBJECT_MISSING, 401: Cause.AUTH, 403: Cause.AUTH,
    407: Cause.AUTH, 408: Cause.SERVER, 425: Cause.THROTTLE, 429: Cause.THROTTLE, 423: Cause.SERVER, 499: Cause.SERVER,
    451: Cause.REFUSED, 409: Cause.SERVER, 430: Cause.THROTTLE, 440: Cause.AUTH, 460: Cause.SERVER,
    501: Cause.BAD_REQUEST,
    505: Cause.BAD_REQUEST, 507: Cause.SERVER, 511: Cause.AUTH,
}  # fmt: skip
_SERVER_ERROR = 500


def findings_of(facts: Facts, place: Place) -> list[Finding]:
    """Every finding, in no order."""
    silenced = {hit.label for hit in _EXCEPTIONS.hits(facts.words)}
    coded = [
        f for f in _codes(facts) if not (_BUG in silenced and f.cause is Cause.OWN_BUG and f.rank is Rank.WEAK_CODE)
    ]
    numbered = number_findings(facts.text, list(facts.slots), facts.depths)
    return [*coded, *_statuses(facts), *numbered, *_texts(facts, place, silenced)]


def _statuses(facts: Facts) -> Iterator[Finding]:
    for slot in facts.statuses:
        status = int(slot.value)
        cause = _STATUS_CAUSES.get(status, Cause.SERVER if status >= _SERVER_ERROR else Cause.BAD_REQUEST)
        yield _at(f"status.{status}", cause, Rank.STATUS, slot)


def _codes(facts: Facts) -> Iterator[Finding]:
    for slot in facts.slots:
        if is_code_key(slot.key) and (_looks_like_code(slot.value) or _is_whole(slot, facts.text)):
            for found in _looked_up(slot.value, slot):
                yield replace(found, rank=Rank.CODE) if _is_own_type(slot, found) else found
    for match in _IDENTIFIER.finditer(facts.text):
        if _looks_like_code(match[0]):
            slot = Slot("code", match[0], match.start(), match.end(), facts.depths.of(match.start()))
            yield from _looked_up(match[0], slot)


def _is_whole(slot: Slot, text: str) -> bool:
    """Whether a plain word is all there is behind its key, and not the first word of a sentence."""
    return slot.key not in _PROSE_KEYS and text[slot.end : slot.end + 1] in _ENDS


def _is_own_type(slot: Slot, found: Finding) -> bool:
    """The recorded type of an exception is a fact; the same word in a text may be quoted from anywhere."""
    return slot.key == "exceptiontype" and found.cause is Cause.OWN_BUG


def _looked_up(code: str, slot: Slot) -> Iterator[Finding]:
    """The code, else its last component, else the same without the suffix of an exception's name."""
    for form in _forms(code):
        entry = CODES.get(plain(form))
        if entry is not None:
            yield _at(f"code.{form}", entry[0], entry[1], slot)
            return


def _forms(code: str) -> Iterator[str]:
    yield code
    last = re.split(r"[./:]", code)
    yield last[-1]
    for suffix in _EXCEPTION_SUFFIX:
        if last[-1].endswith(suffix):
            yield last[-1].removesuffix(suffix)
    yield from reversed(last[:-1])


def _looks_like_code(word: str) -> bool:
    if word.isupper():
        return len(word) >= _SHORTEST_UPPER
    return "_" in word or any(c.isupper() for c in word[1:]) or word.endswith(_EXCEPTION_SUFFIX) or "/" in word


def _texts(facts: Facts, place: Place, silenced: set[str]) -> Iterator[Finding]:
    speaking = {rule.name for rule in RULES if place in rule.places and rule.name not in silenced}
    for hit in _PHRASES.hits(facts.words):
        if hit.label in speaking:
            yield _text(_BY_NAME[hit.label], hit.start, hit.end, facts)
    lower = facts.text.lower()
    for rule, substrings in _NATIVE:
        for native in substrings if rule.name in speaking else ():
            at = lower.find(native)
            if at >= 0:
                yield _text(rule, at, at + len(native), facts)


def _text(rule: Rule, start: int, end: int, facts: Facts) -> Finding:
    return Finding(rule=rule.name, cause=rule.cause, rank=rule.rank, depth=facts.depths.of(start), start=start, end=end)


def _at(rule: str, cause: Cause, rank: Rank, slot: Slot) -> Finding:
    return Finding(rule=rule, cause=cause, rank=rank, depth=slot.depth, start=slot.start, end=slot.end)
