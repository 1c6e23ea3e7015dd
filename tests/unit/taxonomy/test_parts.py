"""The parts: phrases, masks, slots and normalisation, each by itself."""

from __future__ import annotations

import pytest

from mos.domain.taxonomy.facts import facts_of, prepare
from mos.domain.taxonomy.phrases import Matcher, words_of


def _found(phrase: str, text: str) -> bool:
    return bool(list(Matcher([("x", phrase)]).hits(words_of(text))))


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("disk full", "the disk full error", True),
        ("disk full", "on diskette fuller", False),
        ("disk ..2 full", "disk C is full", True),
        ("disk ..2 full", "disk one two three full", False),
        ("disk ..3 full", "on disk. Full log follows", False),
        ("disk ..3 full", "on disk\nfull log follows", False),
        ("credit* left", "no credits left", True),
        ("a|b c", "b c", True),
        ("<cannot> find", "couldn't find it", True),
        ("<cannot> find", "could not find it", True),
        ("<cannot> find", "unable to find it", True),
        ("<not> exist", "it doesn't exist", True),
        ("no such key", "NoSuchKey", True),
        ("rate limit", "rate_limit_exceeded", True),
    ],
)
def test_a_phrase_matches_whole_words_in_one_sentence(phrase: str, text: str, found: bool) -> None:
    assert _found(phrase, text) is found


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ('{"status": 503}', {503}), ("HTTP/1.1 403 Forbidden", {403}), ("Status Code: 400; Error Code: X", {400}),
        ("502 Bad Gateway", {502}), ("Request failed with status code 504", {504}), ("Error: 401 - {}", {401}),
        ("{'detail': '400: no'}", {400}), ("<title>504 Gateway Time-out</title>", {504}), ("error code: 524", {524}),
        ("frame 503 of 504", set()), ("took 500 ms", set()), ("https://x.example/503", set()), ("build 4.2.9", set()),
        ("Failed: 500 images", set()), ("error after 429 seconds", set()), ("HTTP 200 OK", set()),
        ("limit 599999", set()),
    ],
)  # fmt: skip
def test_a_status_is_read_only_from_a_place_that_says_so(text: str, statuses: set[int]) -> None:
    assert {int(slot.value) for slot in facts_of(text).statuses} == statuses


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\r\nb", "a\n\nb"),
        ("caf\u00e9 \uff21\uff22", "caf\u00e9 AB"),
        ("see https://x.example/429?a=500 now", "see maskedurl  now"),
        ("get s3://bucket/429.zip", "get maskedstorage "),
        ("open C:\\Users\\me\\500.aep", "open maskedaep"),
        ("open /srv/a/500.mp4", "open maskedmedia"),
        ("<Error><Code>NoSuchKey</Code></Error>", "code: NoSuchKey"),
        ("at 2026-01-01T00:05:03Z", "at maskedtime"),
        ("id 123e4567-e89b-42d3-a456-426614174000", "id maskedid"),
    ],
)
def test_a_text_is_cleaned_and_masked(text: str, left: str) -> None:
    assert prepare(text).strip() == left.strip()


def test_nested_braces_and_causes_make_depth() -> None:
    facts = facts_of('{"status": 400, "error": {"status": 500}}')
    assert {slot.value: slot.depth for slot in facts.statuses} == {"400": 1, "500": 2}
    assert facts_of("HTTP 400 caused by: HTTP 500").statuses[-1].depth == 1
