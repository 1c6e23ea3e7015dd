"""Documents as values: what is read, what is refused, what is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pydantic
import pytest

from mos.domain.model import Job, Lease, Task
from tests.builders import NOW, ago, ahead, job, lease, task

STORED = {"id": "t", "jobId": "j", "stepType": "upscale", "status": "queued"}


def read(**fields: Any) -> Task:
    return Task.model_validate(STORED | fields)


def test_an_older_writers_document_is_normalised() -> None:
    old = read(stepType="image-edit")
    assert (old.step_type, old.attempt, old.lease, old.send.state) == ("image_edit", 0, None, "sent")
    assert (old.check_at, old.executions, old.depends_on, old.input) == (None, 0, (), {})


def test_null_means_absent() -> None:
    nulls = [
        "attempt",
        "send",
        "lease",
        "dependsOn",
        "input",
        "reapCount",
        "render",
        "correlationId",
        "queuedAt",
        "shotId",
    ]
    assert read(**dict.fromkeys(nulls)) == read()
    assert (
        Job.model_validate({"id": "j", "status": "pending", "kind": "k", "shots": None, "needsAeRerender": None}).shots
        == {}
    )
    assert (
        Job.model_validate({"id": "j", "status": "pending", "kind": "k", "retry": {"attempts": None}}).retry is not None
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "done"),
        ("status", None),
        ("jobId", 3),
        ("jobId", None),
        ("attempt", -1),
        ("attempt", "3"),
        ("attempt", True),
        ("attempt", 1.5),
        ("attempt", float("nan")),
        ("failures", "0"),
        ("queuedAt", "2026-01-01T00:00:00Z"),
        ("queuedAt", 1_767_225_600),
        ("queuedAt", datetime(2026, 1, 1)),  # noqa: DTZ001 - naive on purpose
        ("lease", {"owner": "o", "token": "t", "renewedAt": NOW}),
        ("lease", {"owner": "o", "token": "t", "renewedAt": NOW, "expiresAt": "soon"}),
        ("dependsOn", "j.s1.upscale"),
        ("input", []),
        ("send", {"state": "posted"}),
    ],
)
def test_what_does_not_validate_is_refused_not_guessed(field: str, value: Any) -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        read(**{field: value})
    assert caught.value.errors()[0]["loc"][0] == field


@pytest.mark.parametrize("value", ["yes", 1, "true"])
def test_a_flag_is_true_or_false(value: Any) -> None:
    with pytest.raises(pydantic.ValidationError):
        Job.model_validate({"id": "j", "status": "pending", "kind": "k", "needsAeRerender": value})


def test_times_of_other_zones_are_the_same_instants() -> None:
    berlin = timezone(timedelta(hours=2))
    assert read(queuedAt=datetime(2026, 7, 1, 14, tzinfo=berlin)).queued_at == datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("year", [1, 1969, 9000, 9999])
def test_dates_that_no_sum_could_hold_are_refused(year: int) -> None:
    with pytest.raises(pydantic.ValidationError, match=f"not one of the year {year}"):
        read(queuedAt=datetime(year, 12, 31, tzinfo=UTC))


def test_the_first_and_the_last_year_are_dates() -> None:
    for year in (1970, 8999):
        assert read(queuedAt=datetime(year, 1, 1, tzinfo=UTC)).queued_at is not None


def test_a_nested_map_carries_along_what_it_does_not_know() -> None:
    given = {"owner": "o", "token": "t", "renewedAt": NOW, "expiresAt": NOW, "zone": "b"}
    assert Lease.model_validate(given).model_dump(by_alias=True) == given


def test_a_replaced_field_is_validated() -> None:
    assert task().replace(attempt=4).attempt == 4
    with pytest.raises(pydantic.ValidationError):
        task().replace(attempt=-1)


def test_fields_are_spelled_as_stored_and_unset_ones_are_absent() -> None:
    stored = task("running", lease=lease(ends=NOW)).fields()
    assert {"jobId", "stepType", "queuedAt", "startedAt", "lease", "reapCount"} <= stored.keys()
    assert not {"id", "notBefore", "outputKey", "render", "checkAt"} & stored.keys()
    assert set(stored["lease"]) == {"owner", "token", "renewedAt", "expiresAt"}


@pytest.mark.parametrize(
    ("fields", "since"),
    [
        ({"queued_at": NOW}, NOW),
        ({"queued_at": NOW, "not_before": ahead(minutes=5)}, ahead(minutes=5)),
        ({"queued_at": NOW, "not_before": ago(minutes=5)}, NOW),
        ({"queued_at": None, "send": {"at": ago(minutes=1)}, "updated_at": NOW}, ago(minutes=1)),
        ({"queued_at": None, "send": {}, "updated_at": NOW, "started_at": ago(minutes=1)}, NOW),
        ({"queued_at": None, "send": {}, "started_at": NOW}, NOW),
        ({"queued_at": None, "send": {}}, None),
    ],
)
def test_since_when_a_queued_task_waits(fields: dict[str, Any], since: datetime | None) -> None:
    assert task(**fields).waits_since == since


@pytest.mark.parametrize(
    ("status", "send", "unsent"), [("queued", "unsent", True), ("queued", "sent", False), ("pending", "unsent", False)]
)
def test_only_a_queued_task_can_be_unsent(status: str, send: str, unsent: bool) -> None:
    assert task(status, send={"state": send}).unsent is unsent


@pytest.mark.parametrize(
    ("shots", "settled"),
    [
        ({}, False),
        ({"a": {"status": "output_ready"}, "b": {"status": "completed"}}, True),
        ({"a": {"status": "failed"}}, False),
    ],
)
def test_a_job_is_settled_when_every_shot_ended_well(shots: dict[str, Any], settled: bool) -> None:
    assert job(shots=shots).settled is settled
