"""What drives each unfinished document, row by row (property: `tests/property/test_driver_product.py`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from mos.domain.drivers import Done, Driver, People, Undriven, ViaJob, driver_of_job, driver_of_task
from mos.domain.model import Render, Send, Shot
from mos.domain.transitions import By
from tests.builders import NOW, ago, ahead, incident, job, lease, policy, task

UNSENT = Send(state="unsent", at=NOW)


def of(found: Any, status: str = "processing") -> Any:
    return driver_of_task(found, job(status), policy())


def rendering(**fields: Any) -> Any:
    given = {"uid": "u", "submitted_at": NOW} | fields
    return of(task("running", step_type="render", lease=None, render=Render(**given)))


@pytest.mark.parametrize("status", ["completed", "failed", "dead", "cancelled"])
@pytest.mark.parametrize("of_job", ["pending", "processing", "completed", "failed", "cancelled"])
def test_a_terminal_task_needs_no_driver(status: str, of_job: str) -> None:
    assert of(task(status), of_job) == Done()


@pytest.mark.parametrize("status", ["pending", "waiting"])
@pytest.mark.parametrize("of_job", ["pending", "processing", "failed", "cancelled"])
def test_what_waits_is_driven_by_its_job(status: str, of_job: str) -> None:
    assert of(task(status), of_job) == ViaJob("j")


@pytest.mark.parametrize("of_job", ["pending", "failed", "cancelled"])
def test_what_is_queued_under_a_job_that_does_not_proceed_is_driven_by_the_job(of_job: str) -> None:
    assert of(task("queued"), of_job) == ViaJob("j")


@pytest.mark.parametrize("status", ["pending", "waiting", "queued"])
def test_a_completed_job_drives_nothing(status: str) -> None:
    assert of(task(status), "completed") == Undriven("its job is completed")


@pytest.mark.parametrize("step", ["render", "deliver"])
def test_unsent_renders_and_deliveries_belong_to_render_recovery(step: str) -> None:
    assert of(task(step_type=step, send=UNSENT)) == Driver(By.RENDER_RECOVERY, ahead(seconds=60))


@pytest.mark.parametrize("step", ["render", "deliver"])
def test_sent_renders_and_deliveries_are_looked_at_after_their_pickup_time(step: str) -> None:
    assert of(task(step_type=step)) == Driver(By.RENDER_RECOVERY, ahead(minutes=10))


@pytest.mark.parametrize("step", ["render", "deliver"])
def test_renders_without_a_uid_and_deliveries_run_under_a_lease(step: str) -> None:
    found = task("running", step_type=step, render=Render())
    assert of(found) == Driver(By.RENDER_RECOVERY, ahead(minutes=6))


def test_a_delivery_with_a_leftover_uid_still_runs_under_its_lease() -> None:
    assert of(task("running", step_type="deliver", render=Render(uid="u"))) == Driver(
        By.RENDER_RECOVERY, ahead(minutes=6)
    )


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, ahead(minutes=3)),
        ({"last_polled_at": ahead(minutes=10)}, ahead(minutes=13)),
        ({"last_polled_at": ahead(minutes=30)}, ahead(minutes=20)),
        ({"last_polled_at": ahead(minutes=30), "missing_since": ahead(minutes=19)}, ahead(minutes=25)),
        ({"last_polled_at": ahead(minutes=30), "unanswered_since": ahead(minutes=24)}, ahead(minutes=30)),
        ({"last_polled_at": ahead(minutes=30), "missing_since": ahead(minutes=2)}, ahead(minutes=20)),
        ({"last_polled_at": ahead(hours=9), "unanswered_since": ahead(hours=8)}, ahead(minutes=60)),
        (
            {"last_polled_at": ahead(hours=9), "unanswered_since": ahead(hours=8), "last_change_at": ahead(hours=1)},
            ahead(hours=2),
        ),
    ],
)
def test_a_submitted_render_is_looked_at_at_the_earliest_of_three_times(fields: dict[str, Any], at: datetime) -> None:
    assert rendering(**fields) == Driver(By.RENDER_RECOVERY, at)


def test_a_uid_without_the_time_of_its_submission_is_refused() -> None:
    assert rendering(submitted_at=None) == Undriven("a stored uid without submittedAt")


@pytest.mark.parametrize("step", ["image_edit", "voice_training"])
def test_an_unsent_message_is_the_reapers_after_a_minute(step: str) -> None:
    assert of(task(step_type=step, send=UNSENT)) == Driver(By.REAPER, ahead(seconds=60))


@pytest.mark.parametrize(("step", "minutes"), [("upscale", 30), ("video_generate", 60), ("voice_training", 120)])
def test_a_sent_message_is_the_reapers_after_the_pickup_time_of_its_step(step: str, minutes: int) -> None:
    assert of(task(step_type=step)) == Driver(By.REAPER, ahead(minutes=minutes))


def test_pickup_time_begins_when_a_back_off_ends() -> None:
    assert of(task(not_before=ahead(minutes=15))) == Driver(By.REAPER, ahead(minutes=45))
    assert of(task(not_before=ago(minutes=15))) == Driver(By.REAPER, ahead(minutes=30))


@pytest.mark.parametrize("of_job", ["pending", "processing", "completed", "failed", "cancelled"])
def test_running_work_is_the_reapers_once_its_lease_and_the_grace_are_over(of_job: str) -> None:
    assert of(task("running", lease=lease(ends=ahead(minutes=4))), of_job) == Driver(By.REAPER, ahead(minutes=6))


def test_an_older_writers_running_task_is_driven_by_its_steps_time_to_live() -> None:
    assert of(task("running", lease=None, started_at=ago(minutes=1))) == Driver(By.REAPER, ahead(minutes=16))
    assert isinstance(of(task("running", lease=None, started_at=None, queued_at=None)), Undriven)


def test_an_older_writers_queued_task_is_driven_by_what_times_it_has() -> None:
    assert of(task(queued_at=None, send=Send(at=ago(minutes=1)))) == Driver(By.REAPER, ahead(minutes=29))
    assert of(task(queued_at=None, send=Send(), updated_at=ago(minutes=2))) == Driver(By.REAPER, ahead(minutes=28))
    assert of(task(queued_at=None, send=Send())) == Undriven("queued without queuedAt")


@pytest.mark.parametrize("step", ["colour_grade", "render_poll"])
def test_a_step_that_no_task_can_have_gets_as_long_as_a_job_may_stand_still(step: str) -> None:
    assert of(task(step_type=step)) == Driver(By.REAPER, ahead(hours=3))
    assert of(task("running", step_type=step, lease=None, started_at=NOW)) == Driver(
        By.REAPER, ahead(hours=3, minutes=2)
    )


def driven(status: str, **fields: Any) -> Any:
    extra = {name: fields.pop(name) for name in ("progress", "open_tasks") if name in fields}
    return driver_of_job(job(status, **fields), policy(), now=NOW, **extra)


def test_a_pending_job_is_dispatched_now() -> None:
    assert driven("pending") == Driver(By.DISPATCH, NOW)


def test_a_completed_job_needs_no_driver() -> None:
    assert driven("completed", needs_ae_rerender=True) == Done()


def test_a_cancelled_job_is_dispatchs_while_it_has_open_tasks() -> None:
    assert driven("cancelled") == Driver(By.DISPATCH, NOW)
    assert driven("cancelled", open_tasks=False) == Done()


def test_a_processing_job_is_examined_three_hours_after_its_last_progress() -> None:
    assert driven("processing") == Driver(By.STALLED_JOBS, ahead(hours=3))
    assert driven("processing", progress=ago(hours=1)) == Driver(By.STALLED_JOBS, ahead(hours=2))


@pytest.mark.parametrize(("statuses", "settled"), [
    (["completed", "output_ready"], True),
    (["completed", "processing"], False),
    (["completed", "failed"], False),
    ([], False),
])  # fmt: skip
def test_settled_shots_with_a_rerender_wanted_are_render_recoverys_now(statuses: list[str], settled: bool) -> None:
    shots = {str(number): Shot(status=status) for number, status in enumerate(statuses)}
    expected = Driver(By.RENDER_RECOVERY, NOW) if settled else Driver(By.STALLED_JOBS, ahead(hours=3))
    assert driven("processing", shots=shots, needs_ae_rerender=True) == expected
    assert driven("processing", shots=shots) == Driver(By.STALLED_JOBS, ahead(hours=3))


@pytest.mark.parametrize("status", [None, "retrying", "resolved"])
def test_a_failed_job_without_a_current_incident_is_production_retrys_now(status: str | None) -> None:
    given = incident(status, last_attempt_at=ago(minutes=1)) if status else None
    assert driven("failed", production_incident=given) == Driver(By.PRODUCTION_RETRY, NOW)


def test_a_retry_waits_for_its_cool_down() -> None:
    pending = incident("retry_pending", last_attempt_at=ago(minutes=1))
    assert driven("failed", production_incident=pending) == Driver(By.PRODUCTION_RETRY, ahead(minutes=4))
    reserved = {"production_incident": incident("retry_pending"), "retry": {"attempts": 1, "lastAttemptAt": NOW}}
    assert driven("failed", **reserved) == Driver(By.PRODUCTION_RETRY, ahead(minutes=5))


def test_the_first_retry_needs_no_cool_down() -> None:
    assert driven("failed", production_incident=incident("retry_pending")) == Driver(By.PRODUCTION_RETRY, NOW)


@pytest.mark.parametrize("status", ["exhausted", "operator_required"])
def test_an_open_incident_is_driven_by_people(status: str) -> None:
    assert driven("failed", production_incident=incident(status, reason="no .aep")) == People(
        f"incident {status}: no .aep"
    )
