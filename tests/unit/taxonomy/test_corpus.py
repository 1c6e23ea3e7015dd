"""Every labelled message gets its class; no rule knows a message by heart."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.taxonomy import classify_production_failure
from mos.domain.taxonomy.findings import RULES
from mos.domain.taxonomy.rule import listed
from tests.unit.taxonomy.corpus import ALL, COLLECTED, FURTHER

LONGEST_PHRASE = 9


def test_the_collected_corpus_is_whole() -> None:
    assert len(COLLECTED) == 228
    assert len(FURTHER) >= 150


@pytest.mark.parametrize("row", ALL, ids=range(len(ALL)))
def test_a_labelled_message_gets_its_class(row: dict[str, Any]) -> None:
    found = classify_production_failure(row["text"], row.get("context"))
    assert found.failure_class == row["class"], (found, row["text"])


def test_the_class_survives_the_noise_of_a_log() -> None:
    """Blank lines and stack frames after a message say nothing."""
    noise = "\n    at Socket.emit (node:events:500:28)\n    at /srv/app/node_modules/timeout/429.js:503:12\n"
    noisy = [(row, classify_production_failure(row["text"] + noise, row.get("context"))) for row in ALL]
    assert [(found, row["text"]) for row, found in noisy if found.failure_class != row["class"]] == []


def test_no_phrase_is_long_enough_to_be_a_message() -> None:
    long = [p for rule in RULES for p in listed(rule.phrases) if len(p.split()) > LONGEST_PHRASE]
    assert long == []


def test_no_native_entry_is_a_whole_message() -> None:
    texts = {row["text"].strip() for row in ALL}
    assert [n for rule in RULES for n in listed(rule.native) if n in texts] == []


def test_rules_have_names_of_their_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
