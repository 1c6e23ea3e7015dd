"""Durations, their relations, their scaling, and the delays between attempts."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.backoff import retry_delay
from mos.domain.errors import SettingsError
from mos.domain.policy import Policy
from mos.domain.timings import Timings
from tests.builders import policy, shipped, task

DEMO = policy().scaled(1 / 60)


def seconds(value: timedelta) -> float:
    return value.total_seconds()


def test_the_delays_double_up_to_a_quarter_of_an_hour() -> None:
    assert [seconds(retry_delay(n, Timings())) for n in range(1, 9)] == [30, 60, 120, 240, 480, 900, 900, 900]


@pytest.mark.parametrize("count", [0, -1, -(10**9)])
def test_less_than_one_receive_counts_as_the_first(count: int) -> None:
    assert seconds(retry_delay(count, Timings())) == 30


@pytest.mark.parametrize("count", [31, 1_000, 10**18])
def test_an_absurd_count_neither_overflows_nor_exceeds_the_longest_delay(count: int) -> None:
    assert seconds(retry_delay(count, Timings())) == 900


@given(st.integers(1, 60), st.integers(1, 60))
def test_a_later_attempt_never_waits_less(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert retry_delay(low, Timings()) <= retry_delay(high, Timings()) <= Timings().retry_max


def test_a_lease_ends_a_margin_before_its_window() -> None:
    assert seconds(Timings().lease) == 285
    steps = shipped().steps
    assert [seconds(policy().lease(steps[name])) for name in ("upscale", "shot_reorder", "video_generate")] == [
        285,
        105,
        285,
    ]


@pytest.mark.parametrize(
    ("given_", "variable"),
    [
        ({"heartbeat": timedelta(seconds=285)}, "SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS"),
        ({"visibility": timedelta(seconds=15), "heartbeat": timedelta(seconds=1)}, "SQS_VISIBILITY_TIMEOUT_SECONDS"),
        ({"retry_base": timedelta(seconds=901)}, "SQS_RETRY_VISIBILITY_BASE_SECONDS"),
    ],
)
def test_relations_that_would_lose_leases_are_refused_by_the_variables_name(
    given_: dict[str, timedelta], variable: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{variable}: ") as caught:
        Timings(**given_)
    assert caught.value.details["field"] == variable


def test_the_longest_heartbeat_is_shorter_than_the_lease() -> None:
    Timings(heartbeat=timedelta(seconds=284))
    Timings(retry_base=timedelta(seconds=900))


@pytest.mark.parametrize("step", shipped().steps)
def test_at_demo_scale_leases_last_ten_seconds_and_end_two_before_the_window(step: str) -> None:
    spec = DEMO.pipeline.steps[step]
    assert seconds(DEMO.lease(spec)) >= 10
    assert DEMO.window(spec) - DEMO.lease(spec) == timedelta(seconds=2)


@pytest.mark.parametrize("step", [name for name, spec in shipped().steps.items() if not spec.messages_only])
def test_at_demo_scale_a_step_still_outlives_its_window(step: str) -> None:
    spec = DEMO.pipeline.steps[step]
    assert (spec.running_ttl_seconds or 0) > spec.visibility_seconds
    assert (spec.pickup_ttl_seconds or 0) >= 5


def test_at_demo_scale_a_minute_is_a_second() -> None:
    small = DEMO.timings
    assert seconds(small.stalled_after) == 180
    assert [seconds(t) for t in (small.poll_silence, small.resubmit_window, small.render_unchanged)] == [3, 20, 60]
    assert [seconds(t) for t in (small.cool_down, small.unsent_grace, small.lease_grace)] == [5, 1, 2]
    assert small.heartbeat * 2 <= small.lease
    assert DEMO.pipeline.steps["video_generate"].running_ttl_seconds == 40
    assert DEMO.pipeline.steps["voice_training"].pickup_ttl_seconds == 120


@pytest.mark.parametrize("scale", [1 / 600, 1 / 60, 1 / 7, 0.3, 0.99])
def test_at_any_scale_durations_are_whole_seconds_and_never_nothing(scale: float) -> None:
    scaled = Timings().scaled(scale)
    for field in fields(scaled):
        length = seconds(getattr(scaled, field.name))
        assert length > 0
        assert field.name == "heartbeat" or length == int(length)


def test_scale_one_changes_nothing() -> None:
    assert policy().scaled(1) == policy()


@pytest.mark.parametrize("scale", [0, -1, 1.01, float("nan")])
def test_an_absurd_scale_is_refused(scale: float) -> None:
    with pytest.raises(SettingsError, match="time scale"):
        Timings().scaled(scale)


def test_a_queue_whose_window_is_too_short_for_a_lease_is_refused_by_name() -> None:
    steps = shipped().steps
    short = steps["upscale"].model_copy(update={"visibility_seconds": 22})
    pipeline = shipped().model_copy(update={"steps": steps | {"upscale": short}})
    with pytest.raises(SettingsError, match=r"steps\.upscale\.visibility_seconds"):
        Policy(pipeline=pipeline)
    long = steps["upscale"].model_copy(update={"visibility_seconds": 23})
    Policy(pipeline=shipped().model_copy(update={"steps": steps | {"upscale": long}}))


def test_an_unknown_step_waits_as_long_as_a_job_may_stand_still() -> None:
    assert policy().pickup(task(step_type="nothing")) == policy().timings.stalled_after
    assert policy().pickup(task(step_type="upscale")) == timedelta(minutes=30)
