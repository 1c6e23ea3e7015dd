"""Task messages: the one good shape, and every bad one refused by the name of its field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.errors import ValidationError
from mos.domain.messages import MAX_BODY_BYTES, TaskMessage, parse_message
from tests.builders import task

GOOD = {"v": 1, "taskId": "j.s1.upscale", "jobId": "j", "stepType": "upscale", "attempt": 2}


def body(**fields: Any) -> str:
    return json.dumps({key: value for key, value in (GOOD | fields).items() if value is not ...})


def field_of(text: str, step: str | None = None) -> str:
    with pytest.raises(ValidationError) as caught:
        parse_message(text, step=step)
    str(caught.value).encode("utf-8")
    assert "\n" not in str(caught.value.details["field"])
    found: str = caught.value.details["field"]
    return found


def test_the_good_shape() -> None:
    message = parse_message(body(), step="upscale")
    assert (message.task_id, message.job_id, message.step_type, message.attempt) == ("j.s1.upscale", "j", "upscale", 2)
    assert message.poll_generation is None


def test_what_a_producer_sends_is_exactly_that_shape() -> None:
    sent = TaskMessage.for_task(task(attempt=2)).body()
    assert json.loads(sent) == GOOD
    assert parse_message(sent) == TaskMessage.for_task(task(attempt=2))
    poll = TaskMessage(task_id="t", job_id="j", step_type="render_poll", attempt=0, poll_generation=3)
    assert json.loads(poll.body())["pollGeneration"] == 3
    assert parse_message(poll.body()) == poll


def test_older_producers_send_no_attempt_and_spell_steps_with_a_hyphen() -> None:
    message = parse_message(body(attempt=..., stepType="image-edit"), step="image_edit")
    assert (message.attempt, message.step_type) == (0, "image_edit")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        "[]",
        "1",
        "null",
        '"text"',
        "NaN",
        '{"a": NaN}',
        '{"a": -Infinity}',
        "{}{}",
        "\ud800",
        "\x00",
        "\ufeff{}",
    ],
)
def test_what_is_not_a_json_object_is_refused_as_a_body(text: str) -> None:
    assert field_of(text) == "body"


@pytest.mark.parametrize("text", ["[" * 20_000, '{"a":' * 10_000, '{"a":' * 900 + "1" + "}" * 900])
def test_deep_nesting_is_refused(text: str) -> None:
    assert field_of(text) in {"body", "a", "taskId"}


def test_a_long_body_is_refused_before_it_is_parsed() -> None:
    assert field_of(" " * (1024 * 1024)) == "body"
    padded = body() + " " * (MAX_BODY_BYTES - len(body()))
    assert parse_message(padded).attempt == 2
    assert field_of(padded + " ") == "body"


@pytest.mark.parametrize("field", ["taskId", "jobId", "stepType"])
@pytest.mark.parametrize("value", [..., None, 1, True, [], {}, "", "\x00", "\ud800", "\u202eevil", "a b", "x" * 200])
def test_a_missing_or_wrong_name_is_refused(field: str, value: Any) -> None:
    assert field_of(body(**{field: value})) == field


@pytest.mark.parametrize("field", ["taskId", "jobId"])
@pytest.mark.parametrize(
    "value", ["a/b", "../x", "..", ".", "__x__", "____", "a\n", "C:\\x", "file:///etc", "a\r\nb", "\u00e4"]
)
def test_an_id_that_is_a_path_or_reserved_is_refused(field: str, value: str) -> None:
    assert field_of(body(**{field: value})) == field


@pytest.mark.parametrize("value", ["Upscale", "1x", "up scale", "x" * 41, "a;b", "upscale\n"])
def test_a_step_is_a_plain_name(value: str) -> None:
    assert field_of(body(stepType=value)) == "stepType"


@pytest.mark.parametrize("field", ["attempt", "pollGeneration"])
@pytest.mark.parametrize("value", [-1, 1.0, 1.5, "1", True, [], 2**31 + 1, 2**63, 10**400])
def test_a_number_is_whole_not_negative_and_sane(field: str, value: Any) -> None:
    assert field_of(body(**{field: value})) == field


def test_an_integer_too_long_to_parse_is_refused() -> None:
    assert field_of(body().replace("2}", "9" * 5000 + "}")) == "body"


@pytest.mark.parametrize("value", [0, 2, "1", 1.0, True, None])
def test_another_version_is_refused(value: Any) -> None:
    assert field_of(body(v=value)) == "v"


@pytest.mark.parametrize("key", ["extra", "evil_key", "task_id", "id"])
def test_an_unknown_field_is_refused_under_its_own_name(key: str) -> None:
    assert field_of(body(**{key: "x"})) == key


@pytest.mark.parametrize(("field", "ours"), [("taskId", "task_id"), ("jobId", "job_id"), ("stepType", "step_type")])
def test_a_field_spelled_as_we_spell_it_inside_is_missing(field: str, ours: str) -> None:
    assert field_of(body(**{field: ..., ours: GOOD[field]})) == field


def test_a_field_given_twice_is_refused() -> None:
    assert field_of(body()[:-1] + ', "taskId": "other"}') == "taskId"
    assert field_of(body()[:-1] + ', "x\\n\\ud800": 1, "x\\n\\ud800": 1}').startswith("x")


def test_a_double_among_thousands_of_keys_is_named() -> None:
    text = "{" + ",".join(f'"{n}":1' for n in range(6_000)) + ',"5999":1}'
    assert field_of(text) == "5999"


def test_a_message_in_another_steps_queue_is_refused() -> None:
    assert field_of(body(), step="image_edit") == "stepType"


@given(st.text())
def test_no_text_does_anything_but_parse_or_name_a_field(text: str) -> None:
    try:
        parse_message(text)
    except ValidationError as refusal:
        assert refusal.details["field"]  # noqa: PT017 - either outcome is right


@given(
    st.dictionaries(st.sampled_from([*GOOD, "x"]), st.none() | st.booleans() | st.integers() | st.text() | st.floats())
)
def test_no_object_does_anything_but_parse_or_name_a_field(fields: dict[str, Any]) -> None:
    try:
        message = parse_message(json.dumps(GOOD | fields))
    except ValidationError as refusal:
        assert refusal.details["field"] in {*GOOD, "x", "body"}  # noqa: PT017 - either outcome is right
    else:
        assert parse_message(message.body()) == message
