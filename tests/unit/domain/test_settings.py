"""A process refuses to start on a bad setting and says which."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mos.domain.errors import SettingsError
from mos.settings import Settings, read_settings


def test_nothing_needs_to_be_set() -> None:
    settings = read_settings({})
    assert (settings.visibility_seconds, settings.heartbeat_ms, settings.retry_jitter) == (300, 60_000, 0)
    assert (settings.retry_base_seconds, settings.retry_max_seconds, settings.drain_seconds) == (30, 900, 20)
    assert settings.warnings() == ()


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQS_VISIBILITY_TIMEOUT_SECONDS", "120")
    monkeypatch.setenv("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS", "30000")
    timings = read_settings().timings()
    assert (timings.visibility, timings.heartbeat) == (timedelta(seconds=120), timedelta(seconds=30))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MOS_PROJECT", ""),
        ("MOS_BUCKET", "ab"),
        ("MOS_TIME_SCALE", "0"),
        ("MOS_TIME_SCALE", "2"),
        ("MOS_TIME_SCALE", "nan"),
        ("AWS_REGION", ""),
        ("SQS_VISIBILITY_TIMEOUT_SECONDS", "9"),
        ("SQS_VISIBILITY_TIMEOUT_SECONDS", "43201"),
        ("SQS_VISIBILITY_TIMEOUT_SECONDS", "five"),
        ("SQS_VISIBILITY_TIMEOUT_SECONDS", "300.5"),
        ("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS", "0"),
        ("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS", "300000"),
        ("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS", "1e9999"),
        ("SQS_RETRY_VISIBILITY_BASE_SECONDS", "0"),
        ("SQS_RETRY_VISIBILITY_BASE_SECONDS", "901"),
        ("SQS_RETRY_VISIBILITY_MAX_SECONDS", "43201"),
        ("SQS_RETRY_JITTER", "-0.1"),
        ("SQS_RETRY_JITTER", "1.1"),
        ("SQS_RETRY_JITTER", "inf"),
        ("WORKER_CONCURRENCY", "0"),
        ("WORKER_CONCURRENCY", "101"),
        ("WORKER_DRAIN_SECONDS", "-1"),
        ("WORKER_DRAIN_SECONDS", "111"),
        ("SQS_LONG_POLL_SECONDS", "21"),
    ],
)
def test_a_bad_value_is_refused_by_its_variables_name(variable: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({variable: value})
    assert caught.value.details["field"] == variable
    assert variable in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_window_that_leaves_no_lease_is_refused() -> None:
    with pytest.raises(SettingsError, match="SQS_VISIBILITY_TIMEOUT_SECONDS"):
        read_settings({"SQS_VISIBILITY_TIMEOUT_SECONDS": "15", "SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS": "1000"})


def test_a_heartbeat_above_half_of_the_window_is_allowed_with_a_warning() -> None:
    at_half = read_settings({"SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS": "150000"})
    above = read_settings({"SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS": "150001"})
    assert at_half.warnings() == ()
    assert len(above.warnings()) == 1
    assert above.warnings()[0].startswith("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS")


def test_every_setting_is_described() -> None:
    assert all(field.description and field.alias for field in Settings.model_fields.values())


def test_settings_do_not_change_under_way() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read_settings({}).concurrency = 3  # type: ignore[misc]
