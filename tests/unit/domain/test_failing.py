"""What a failed execution does: once more after a delay, back to its job, or the end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mos.domain.drivers import Driver, driver_of_task
from mos.domain.errors import FailureClass
from mos.domain.failing import FailedForGood, Failure, RetryLater, WaitsForJob, decide_failure
from mos.domain.model import JobStatus, SendState, TaskStatus
from mos.domain.releasing import decide_release
from mos.domain.transitions import By
from tests.builders import NOW, ahead, error, job, policy, task

TRANSIENT = ["infrastructure", "template_transfer", "provider_timeout", "stranded_pipeline", "unknown"]
FINAL = ["template_unavailable", "provider_rejection", "media_or_template"]


def fail(found: Any, of: Any = None, *, cls: str = "provider_timeout", receives: int = 1, jitter: float = 0) -> Any:
    return decide_failure(
        found,
        of or job(),
        Failure(FailureClass(cls), "524", "took too long"),
        queued_siblings=[],
        dependants=[],
        receive_count=receives,
        jitter=timedelta(seconds=jitter),
        now=NOW,
        policy=policy(),
    )


@pytest.mark.parametrize("cls", TRANSIENT)
def test_a_retryable_or_unknown_failure_is_queued_again_behind_its_delay(cls: str) -> None:
    decision = fail(task("running", failures=1, resends=1), cls=cls, receives=2, jitter=3)
    assert isinstance(decision, RetryLater)
    assert (decision.delay, decision.fresh_message) == (timedelta(seconds=63), False)
    after = decision.commit.tasks[0].after
    assert (after.status, after.attempt, after.failures, after.lease) == (TaskStatus.QUEUED, 0, 2, None)
    assert (after.not_before, after.queued_at, after.send.state) == (ahead(seconds=63), NOW, SendState.SENT)
    assert (after.error.failure_class, after.error.attempt) == (cls, 0)
    assert driver_of_task(after, job(), policy()) == Driver(By.REAPER, ahead(seconds=63 + 1800))


def test_at_the_last_permitted_receive_a_fresh_message_replaces_the_old_one() -> None:
    assert not fail(task("running"), receives=2).fresh_message
    decision = fail(task("running", send={"state": "sent", "messageId": "m"}), receives=3)
    assert decision.fresh_message
    after = decision.commit.tasks[0].after
    assert (after.send.state, after.send.message_id, after.attempt) == (SendState.UNSENT, None, 0)


@pytest.mark.parametrize("cls", TRANSIENT)
def test_the_third_failure_is_the_last(cls: str) -> None:
    assert isinstance(fail(task("running", failures=1), cls=cls), RetryLater)
    decision = fail(task("running", failures=2), cls=cls)
    assert isinstance(decision, FailedForGood)
    assert decision.commit.tasks[0].after.failures == 3


def test_voice_training_may_fail_eight_times() -> None:
    assert isinstance(fail(task("running", step_type="voice_training", failures=6)), RetryLater)
    assert isinstance(fail(task("running", step_type="voice_training", failures=7)), FailedForGood)


@pytest.mark.parametrize("cls", FINAL)
def test_a_deterministic_failure_is_never_tried_again(cls: str) -> None:
    decision = fail(task("running"), cls=cls)
    assert isinstance(decision, FailedForGood)
    task_change, job_change = decision.commit.tasks[0], decision.commit.jobs[0]
    assert (task_change.after.status, job_change.after.status) == (TaskStatus.FAILED, JobStatus.FAILED)
    assert task_change.after.error.failure_class == job_change.after.error.failure_class == cls


@pytest.mark.parametrize("status", [s for s in JobStatus if s is not JobStatus.PROCESSING])
def test_under_a_job_that_does_not_proceed_the_task_waits_for_it_as_a_new_attempt(status: JobStatus) -> None:
    decision = fail(task("running", attempt=4, failures=1, resends=2), job(status))
    assert isinstance(decision, WaitsForJob)
    after = decision.commit.tasks[0].after
    assert (after.status, after.attempt, after.failures) == (TaskStatus.PENDING, 5, 2)
    assert (after.lease, after.not_before, after.queued_at, after.resends) == (None, None, None, 0)
    assert after.error.attempt == 4
    assert decision.commit.jobs == ()


def test_a_drained_task_is_queued_again_with_nothing_counted() -> None:
    running = task(
        "running", attempt=2, failures=1, reap_count=1, executions=3, send={"state": "sent", "messageId": "m"}
    )
    commit = decide_release(running, job(), reason="SIGTERM", now=NOW, fresh_message=False)
    after = commit.tasks[0].after
    assert (after.status, after.attempt, after.queued_at, after.lease) == (TaskStatus.QUEUED, 2, NOW, None)
    assert (after.failures, after.reap_count, after.executions) == (1, 1, 3)
    assert (after.send.state, after.send.at, after.send.message_id, after.not_before) == ("sent", NOW, "m", None)


def test_a_drained_task_at_the_last_permitted_receive_waits_for_a_fresh_message() -> None:
    sent = task("running", send={"state": "sent", "messageId": "m"})
    after = decide_release(sent, job(), reason="SIGTERM", now=NOW, fresh_message=True).tasks[0].after
    assert (after.send.state, after.send.message_id) == (SendState.UNSENT, None)
    assert driver_of_task(after, job(), policy()) == Driver(By.REAPER, ahead(seconds=60))


@pytest.mark.parametrize("status", [s for s in JobStatus if s is not JobStatus.PROCESSING])
def test_a_drained_task_of_a_job_that_does_not_proceed_becomes_pending_and_keeps_its_error(status: JobStatus) -> None:
    running = task("running", attempt=2, failures=1, error=error())
    after = decide_release(running, job(status), reason="SIGTERM", now=NOW, fresh_message=False).tasks[0].after
    assert (after.status, after.attempt, after.failures, after.error) == ("pending", 3, 1, error())
