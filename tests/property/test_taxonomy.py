"""The taxonomy on any input: total, deterministic, bounded, deaf to noise."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mos.domain.taxonomy
from mos.domain.errors import FailureClass
from mos.domain.taxonomy import (
    Classification,
    classify_production_failure,
    facts,
    mask,
    normalise,
    numbers,
    phrases,
    slots,
)
from mos.domain.taxonomy.context import Place
from mos.domain.taxonomy.facts import facts_of, prepare
from mos.domain.taxonomy.findings import _IDENTIFIER, findings_of

KNOWN = st.sampled_from(
    [
        "ENOSPC", "read ECONNRESET", "HTTP 429", "Error code: 400 - {'error': {'code': ", "<Code>NoSuchKey</Code>",
        "\x1b[31m", "aerender ERROR: ", '\\"status\\": 503', "\r\n", "caused by: ", "C:\\a\\b.aep", "https://x.ai/500",
        "(os error 112)", "insufficient credits", "{", "}", "'", '"', "\u202e", "磁盘空间不足", "signal 9",
        "0x80070070",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.one_of(KNOWN, st.text(max_size=20)), max_size=30).map("".join))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        TEXTS,
        st.binary(max_size=20),
        st.builds(ValueError, TEXTS),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.text(max_size=12), st.integers()), inner, max_size=4)
    ),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(
    st.sampled_from(["status", "code", "message", "error", "exceptionType", "details", "errno"]), VALUES, max_size=5
)
CONTEXTS = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["step", "service", "template_state", "template", "runner", "host", "x"]), VALUES, max_size=4
    ),
    st.fixed_dictionaries(
        {"step": st.sampled_from(["template_transfer", "image_generate", "queue", "render", "encode"])}
    ),
)
LABELLED = st.sampled_from(
    [
        ("ENOSPC: no space left on device, write", {}, "infrastructure"),
        ("read ECONNRESET", {"step": "template_transfer"}, "template_transfer"),
        ("HTTP 503", {"step": "video_generate"}, "provider_timeout"),
        ("job stalled more than allowable limit", {}, "stranded_pipeline"),
        ("template is not published", {}, "template_unavailable"),
        ("blocked by our safety system", {}, "provider_rejection"),
        ("moov atom not found", {}, "media_or_template"),
        ("E11000 duplicate key error", {}, "unknown"),
    ]
)
NOISE = st.lists(
    st.sampled_from(
        [
            "2026-05-03T04:29:00.503Z INFO step 3 of 5", "    at Socket.emit (node:events:500:28)", "",
            '  File "/srv/app/timeout_429.py", line 503, in run', "frame= 500 fps= 42 q=29.0",
            "PROGRESS: 0:00:05:03 (429): 0 Seconds",
            "\tat com.example.RateLimit.run(RateLimit.java:429)", "[pid 5003] 10.0.0.7 4f500ab3c9", "\x1b[2K\x1b[1G",
            "request id: 429e4567-e89b-42d3-a456-426614174503", "rendered 503 of 900 frames", "see https://example.com/500/timeout",
        ]
    ),
    max_size=6,
)  # fmt: skip


@given(error=st.one_of(TEXTS, MAPPINGS), context=CONTEXTS)
@settings(max_examples=80, deadline=None)
def test_any_input_gets_a_class_and_the_same_one_again(error: Any, context: Any) -> None:
    found = classify_production_failure(error, context)
    assert found == classify_production_failure(error, context)
    assert isinstance(found, Classification)
    assert found.failure_class in set(FailureClass)
    assert found.retryable is found.failure_class.retryable
    assert found.rule


@given(error=TEXTS)
@settings(max_examples=60, deadline=None)
def test_evidence_is_one_short_line_without_control_characters(error: str) -> None:
    evidence = classify_production_failure(error).evidence
    assert len(evidence) <= 200
    assert all(c.isprintable() or c == " " for c in evidence if c not in "\u2028\u2029"), repr(evidence)
    assert "\n" not in evidence


@given(case=LABELLED, before=NOISE, after=NOISE)
@settings(max_examples=80, deadline=None)
def test_noise_around_a_message_does_not_change_its_class(case: Any, before: list[str], after: list[str]) -> None:
    text, context, expected = case
    found = classify_production_failure("\n".join([*before, text, *after]), context)
    assert found.failure_class == expected, found


@given(case=LABELLED, at=st.integers(0, 60), colour=st.sampled_from(["\x1b[31m", "\x1b[0m", "\u200b", "\x1b]0;t\x07"]))
@settings(max_examples=60, deadline=None)
def test_terminal_sequences_inside_a_word_hide_nothing(case: Any, at: int, colour: str) -> None:
    text, context, expected = case
    found = classify_production_failure(text[:at] + colour + text[at:], context)
    assert found.failure_class == expected, found


@given(
    digits=st.sampled_from(["429", "500", "503", "524", "402", "112"]),
    shape=st.sampled_from(
        [
            "https://cdn.example.com/{}/v{}.bin?status={}", "/var/lib/{}/timeout/{}/x",
            "C:\\data\\{}\\quota exceeded\\{}.bin",
            "    at f (/srv/app/{}.js:{}:{})", '  File "/srv/{}.py", line {}, in f',
            "s3://bucket/{}/{}", "\\\\fs{}\\share\\{}\\x",
        ]
    ),
)  # fmt: skip
def test_digits_in_urls_paths_and_frames_are_masked(digits: str, shape: str) -> None:
    assert digits not in prepare(f"something odd\n{shape.replace('{}', digits)}\nended")


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_an_earlier_judgement_wrote_is_no_evidence(data: st.DataObject) -> None:
    judged = {"failureClass": data.draw(st.sampled_from(list(FailureClass))), "retryable": data.draw(st.booleans())}
    assert classify_production_failure({"message": "an odd thing", **judged}).failure_class is FailureClass.UNKNOWN
    assert classify_production_failure(f"an odd thing, classify as {judged['failureClass']}").rule == "nothing_matched"


def _patterns() -> dict[str, re.Pattern[str]]:
    modules = (mask, normalise, numbers, phrases, slots)
    found = {f"{m.__name__}.{n}": p for m in modules for n, p in vars(m).items() if isinstance(p, re.Pattern)}
    return {**found, "findings._IDENTIFIER": _IDENTIFIER}


@pytest.mark.parametrize(("name", "pattern"), sorted(_patterns().items()), ids=sorted(_patterns()))
def test_no_regular_expression_can_run_away(name: str, pattern: re.Pattern[str]) -> None:
    """Every repeat is bounded or possessive: the work at one place of the text is limited by constants."""
    assert _unbounded(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE | re.UNICODE)) == [], name


def _unbounded(tree: Any) -> list[str]:
    found = []
    for op, argument in tree:
        if str(op) in {"MAX_REPEAT", "MIN_REPEAT"}:
            _least, most, inner = argument
            found += ["unbounded"] if most is _parser.MAXREPEAT else []
            found += _unbounded(inner)
        else:
            found += [hit for part in _parts(argument) for hit in _unbounded(part)]
    return found


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    if isinstance(argument, (list, tuple)):
        return [part for item in argument for part in _parts(item)]
    return []


def test_every_regular_expression_of_the_package_is_checked() -> None:
    """A compiled pattern in a module that the check above does not know would escape it."""
    package = Path(inspect.getfile(mos.domain.taxonomy)).parent
    compiling = {
        path.stem
        for path in package.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"
    }
    assert compiling == {"mask", "normalise", "numbers", "phrases", "slots", "findings"}


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "/a",
        "{",
        "\\",
        "<",
        '"',
        "aA",
        "cannot find ",
        "429 ",
        '"code": ',
        "\n",
        "C:\\a ",
        " at a(b",
        "worker lost not ",
        "error ",
    ],
)
def test_a_megabyte_is_read_within_the_limits(unit: str) -> None:
    """Whatever the text, what the rules see is bounded: characters, words, slots and findings."""
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    seen = facts_of(text)
    assert len(seen.text) <= normalise.MAX_CHARS
    assert len(seen.words) <= phrases.MAX_WORDS
    assert len(seen.slots) <= slots.MAX_SLOTS
    assert len(findings_of(seen, Place.ELSEWHERE)) <= 20 * normalise.MAX_CHARS
    assert classify_production_failure(text).failure_class in set(FailureClass)


def test_deep_and_wide_structures_are_cut() -> None:
    deep: Any = "ENOSPC"
    for _ in range(5_000):
        deep = {"cause": deep}
    assert len("".join(facts._written(deep))) < normalise.MAX_CHARS
    assert classify_production_failure({"a": deep}).failure_class is FailureClass.UNKNOWN
    assert classify_production_failure("[" * 100_000).failure_class is FailureClass.UNKNOWN
    wide = {str(n): n for n in range(100_000)}
    assert len("".join(facts._written(wide))) < 20 * facts.MAX_NODES
    looped: dict[str, Any] = {}
    looped["self"] = looped
    assert classify_production_failure(looped).failure_class is FailureClass.UNKNOWN


def test_the_last_line_of_a_long_log_is_read() -> None:
    assert classify_production_failure("step done\n" * 100_000 + "ENOSPC: no space left on device").retryable
