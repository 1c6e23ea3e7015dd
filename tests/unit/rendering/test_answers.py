"""Three answers, never two."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.rendering.answers import Census, Known, Missing, UnknownAnswer, read_answer, read_census

RECORD = {"uid": "u1", "state": "render:dorender", "executor": "i-1", "updatedAt": "2026-12-01T01:18:13.926Z"}


def body(**fields: object) -> bytes:
    return json.dumps(RECORD | fields).encode()


def test_known_is_200_and_json_with_that_uid() -> None:
    answer = read_answer(200, body(renderProgress=67), "u1")
    assert isinstance(answer, Known)
    assert answer.record.updated_at == datetime(2026, 12, 1, 1, 18, 13, 926000, UTC)
    assert (answer.record.state, answer.record.executor, answer.record.progress) == ("render:dorender", "i-1", 67)
    assert answer.record.active


@pytest.mark.parametrize("empty", [b"", b"  \n", b"null"])
def test_missing_is_200_with_nothing(empty: bytes) -> None:
    assert read_answer(200, empty, "u1") == Missing()


@pytest.mark.parametrize("status", [204, 301, 400, 403, 404, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("content", [b"", body()])
def test_any_other_status_is_unknown_whatever_it_brings(status: int, content: bytes) -> None:
    assert isinstance(read_answer(status, content, "u1"), UnknownAnswer)


@pytest.mark.parametrize(
    "content",
    [b"{", b"<html>524</html>", b"[]", b"{}", b'"u1"', b"0", b"false", b"\xff\xfe", body(uid="u2"), body(uid=None),
     body(state=None), body(state=""), b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_record_of_that_uid_is_unknown(content: bytes) -> None:
    assert isinstance(read_answer(200, content, "u1"), UnknownAnswer)


@pytest.mark.parametrize(
    ("error", "read"),
    [
        (None, ()),
        ({}, ()),
        ("Error: a", ("Error: a",)),
        ("Error: a\n\nError: b\n \nError: c", ("Error: a", "Error: b", "Error: c")),
        (["Error: a", "Error: b\n\nError: c"], ("Error: a", "Error: b", "Error: c")),
        ({"message": "m"}, ("m",)),
        (7, ()),
    ],
)
def test_error_texts_are_read_in_every_shape(error: object, read: tuple[str, ...]) -> None:
    answer = read_answer(200, body(state="error", error=error), "u1")
    assert isinstance(answer, Known)
    assert answer.record.errors == read


@pytest.mark.parametrize("value", [None, 5, "yesterday", "2026-12-01T01:18:13", {}])
def test_a_time_that_nobody_understands_is_no_time(value: object) -> None:
    answer = read_answer(200, body(updatedAt=value), "u1")
    assert isinstance(answer, Known)
    assert answer.record.updated_at is None


def test_only_finished_and_error_are_ends() -> None:
    states = ["queued", "picked", "started", "render:dorender", "render:cleanup", "finished", "error", "paused"]
    answers = [read_answer(200, body(state=state), "u1") for state in states]
    ended = [answer.record.state for answer in answers if isinstance(answer, Known) and answer.record.terminal]
    active = [answer.record.state for answer in answers if isinstance(answer, Known) and answer.record.active]
    assert ended == ["finished", "error"]
    assert active == ["picked", "started", "render:dorender", "render:cleanup", "paused"]


def test_the_light_list_names_the_executor_otherwise() -> None:
    census = read_census(200, json.dumps([{"uid": "u1", "state": "started", "jobExecutor": "i-1"}]).encode())
    assert isinstance(census, Census)
    assert census.records["u1"].executor == "i-1"


@pytest.mark.parametrize("content", [b"", b"null", b"{}", b"[1]", b'[{"uid": "u1"}]', b"nonsense"])
def test_a_list_with_anything_else_in_it_is_unknown(content: bytes) -> None:
    assert isinstance(read_census(200, content), UnknownAnswer)


def test_an_empty_list_is_known_to_be_empty() -> None:
    assert read_census(200, b"[]") == Census({})
    assert isinstance(read_census(500, b"[]"), UnknownAnswer)


@given(st.integers(100, 599), st.binary(max_size=60))
def test_no_answer_raises(status: int, content: bytes) -> None:
    answer = read_answer(status, content, "u1")
    assert not isinstance(answer, Missing) or status == 200
    assert not isinstance(answer, Known) or status == 200
    read_census(status, content)
