"""Lost or late: the one rule that separates a vanished message from a long queue."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.staleness import Late, Lost, QueueState, lost_or_late, newest
from tests.builders import NOW, ago, ahead

PICKUP = timedelta(minutes=30)


def queue(*readings: tuple[int, int], newest_claimed: datetime | None = None) -> QueueState:
    return QueueState("q", readings, newest_claimed, None)


def verdict(state: QueueState | None, since: datetime = NOW) -> Lost | Late:
    return lost_or_late(state, since=since, pickup_ttl=PICKUP)


def test_a_queue_that_could_not_be_read_says_nothing() -> None:
    assert verdict(None) == Late("the queue could not be read")


def test_in_an_empty_queue_the_message_is_lost() -> None:
    assert verdict(queue((0, 0), (0, 0))) == Lost("the queue is empty")


@pytest.mark.parametrize(
    "readings", [[], [(0, 0)], [(0, 0), (1, 0)], [(1, 0), (0, 0)], [(0, 0), (0, 1)], [(0, 2), (0, 0)]]
)
def test_one_reading_or_anything_in_the_queue_is_not_empty(readings: Any) -> None:
    """SQS's counts are approximate; a delayed message is in the queue as well."""
    assert isinstance(verdict(queue(*readings)), Late)


def test_a_message_that_was_overtaken_by_more_than_the_pickup_time_is_lost() -> None:
    overtaken = queue((9, 0), (9, 0), newest_claimed=ahead(minutes=30, microseconds=1))
    assert isinstance(verdict(overtaken), Lost)
    assert isinstance(verdict(queue((9, 0), (9, 0), newest_claimed=ahead(minutes=30))), Late)
    assert isinstance(verdict(queue((9, 0), (9, 0), newest_claimed=ago(hours=5))), Late)


def test_depth_is_the_latest_reading() -> None:
    assert verdict(queue((1, 1), (7, 2))) == Late("9 messages wait in the queue")
    assert queue().depth == 0


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.timedeltas(max_value=timedelta(minutes=30), min_value=-timedelta(days=9)),
)
def test_whatever_its_age_work_in_a_deep_queue_that_was_not_overtaken_is_late(
    visible: int, delayed: int, ahead_by: timedelta
) -> None:
    state = queue((visible, delayed), (visible, delayed), newest_claimed=NOW + ahead_by)
    assert isinstance(verdict(state), Late)


def test_the_newest_of_some_times() -> None:
    assert newest([None, ago(minutes=1), NOW, None]) == NOW
    assert newest([None]) is None
