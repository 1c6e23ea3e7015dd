"""The claim table of the worker, row by row."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mos.domain.claims import Claimant, Claimed, Drop, Later, OwnerState, Poison, Spent, decide_claim
from mos.domain.messages import TaskMessage
from mos.domain.model import Render, SendState, TaskStatus
from mos.domain.transitions import By
from tests.builders import NOW, ago, ahead, error, job, lease, policy, task

ME = Claimant(owner="boot-me", token="token-me")


def claim(
    found: Any,
    of: Any = "processing",
    *,
    attempt: int = 0,
    step: str = "upscale",
    owner: OwnerState = OwnerState.UNKNOWN,
    receives: int = 1,
    job_id: str = "j",
) -> Any:
    message = TaskMessage(task_id="j.s1.upscale", job_id=job_id, step_type=step, attempt=attempt)
    return decide_claim(
        message,
        found,
        job(of) if isinstance(of, str) else of,
        owner_state=owner,
        claimant=ME,
        receive_count=receives,
        now=NOW,
        policy=policy(),
    )


def test_a_message_for_no_task_is_poison() -> None:
    assert claim(None) == Poison("no task j.s1.upscale", "taskId")


@pytest.mark.parametrize("status", TaskStatus)
def test_an_attempt_from_the_future_is_poison_whatever_the_task_does(status: str) -> None:
    assert claim(task(status, attempt=1), attempt=2).field == "attempt"


def test_a_message_that_names_another_job_is_poison() -> None:
    assert claim(task(), job_id="other").field == "jobId"


def test_a_message_that_names_another_step_is_poison() -> None:
    assert claim(task(), step="image_edit").field == "stepType"


def test_a_task_without_its_job_is_poison() -> None:
    assert claim(task(), None).field == "jobId"


@pytest.mark.parametrize("status", ["completed", "failed", "dead", "cancelled"])
@pytest.mark.parametrize("of", ["processing", "completed", "cancelled", None])
def test_a_message_for_a_terminal_task_is_dropped(status: str, of: str | None) -> None:
    assert isinstance(claim(task(status), of), Drop)


@pytest.mark.parametrize("status", ["pending", "waiting", "queued", "running"])
def test_a_message_of_a_superseded_attempt_is_dropped(status: str) -> None:
    assert "superseded by 3" in claim(task(status, attempt=3), attempt=2).reason


@pytest.mark.parametrize("status", ["pending", "waiting", "queued", "running"])
@pytest.mark.parametrize("of", ["failed", "cancelled"])
def test_under_a_stopped_job_a_message_is_dropped(status: str, of: str) -> None:
    assert claim(task(status), of).reason == f"the job is {of}"


def test_before_its_back_off_ends_a_task_waits_exactly_until_then() -> None:
    assert claim(task(not_before=ahead(seconds=70))) == Later("not before its back-off ends", timedelta(seconds=70))


def test_the_back_off_is_over_at_its_very_instant() -> None:
    assert isinstance(claim(task(not_before=NOW)), Claimed)


def test_a_back_off_at_the_last_permitted_receive_still_waits_since_the_worker_replaces_the_message() -> None:
    waiting = task(not_before=ahead(seconds=70))
    assert claim(waiting, receives=2) == claim(waiting, receives=3)


def test_a_queued_task_is_started_under_a_fresh_lease() -> None:
    queued = task(send={"state": "unsent", "at": ago(minutes=1)}, not_before=ago(seconds=1), resends=2, executions=4)
    claimed = claim(queued)
    assert isinstance(claimed, Claimed)
    assert not claimed.took_over
    after = claimed.task
    assert (after.status, after.attempt, after.executions, after.reap_count) == (TaskStatus.RUNNING, 0, 5, 0)
    assert after.lease is not None
    assert (after.lease.owner, after.lease.token) == ("boot-me", "token-me")
    assert after.lease.expires_at == ahead(seconds=285)
    assert (after.started_at, after.last_progress_at, after.not_before, after.resends) == (NOW, NOW, None, 0)
    assert (after.send.state, after.send.at) == (SendState.SENT, ago(minutes=1))
    assert claimed.commit.by is By.WORKER
    assert claimed.commit.tasks[0].before == queued


def test_a_lease_ends_before_the_window_of_a_queue_that_is_shorter_than_ours() -> None:
    claimed = claim(task(step_type="shot_reorder"), step="shot_reorder")
    assert claimed.task.lease.expires_at == ahead(seconds=120 - 15)


@pytest.mark.parametrize("given", ["image-edit", "image_edit"])
def test_an_older_writers_task_and_message_count_as_attempt_zero(given: str) -> None:
    found = task(step_type=given)
    assert isinstance(claim(found, step="image_edit"), Claimed)


def test_the_correlation_id_of_the_message_is_kept_by_a_task_without_one() -> None:
    message = TaskMessage(task_id="j.s1.upscale", job_id="j", step_type="upscale")
    who = Claimant(owner="o", token="t", correlation_id="from-message")
    given = {"owner_state": OwnerState.UNKNOWN, "claimant": who, "receive_count": 1, "now": NOW, "policy": policy()}
    without = decide_claim(message, task(correlation_id=""), job(), **given)
    own = decide_claim(message, task(correlation_id="own"), job(), **given)
    assert (without.task.correlation_id, without.commit.correlation_id) == ("from-message", "from-message")
    assert own.task.correlation_id == "own"


def test_a_duplicate_of_live_work_is_hidden_for_what_is_left_of_the_lease() -> None:
    decision = claim(task("running", lease=lease(ends=ahead(seconds=90))), receives=2)
    assert decision == Later("another worker holds the lease", timedelta(seconds=90), duplicate=True)


def test_a_duplicate_of_live_work_at_the_last_permitted_receive_is_deleted() -> None:
    assert isinstance(claim(task("running"), receives=3), Drop)


def test_an_ended_lease_is_taken_over_and_counted_as_a_reap() -> None:
    lost = task("running", lease=lease(ends=NOW), executions=3, reap_count=1)
    claimed = claim(lost)
    assert claimed.took_over
    assert (claimed.task.reap_count, claimed.task.executions, claimed.task.attempt) == (2, 4, 0)
    assert claimed.task.lease.token == "token-me"
    assert claimed.commit.act == "take_over"


def test_work_whose_owner_said_it_stops_is_taken_over_at_once_and_not_counted() -> None:
    lost = task("running", lease=lease(ends=ahead(minutes=3)), reap_count=3)
    claimed = claim(lost, owner=OwnerState.STOPPED)
    assert claimed.took_over
    assert claimed.task.reap_count == 3


def test_a_takeover_that_would_be_the_fourth_counted_reap_strands_the_task() -> None:
    spent = claim(task("running", lease=lease(ends=NOW), reap_count=3))
    assert isinstance(spent, Spent)
    assert (spent.status, spent.error.failure_class, spent.needs_person) == ("failed", "stranded_pipeline", False)
    assert isinstance(claim(task("running", lease=lease(ends=NOW), reap_count=2)), Claimed)


@pytest.mark.parametrize("status", ["queued", "running"])
def test_the_ninth_execution_makes_the_task_dead_with_its_last_errors_class(status: str) -> None:
    fields: dict[str, Any] = {"executions": 8, "error": error("infrastructure"), "attempt": 5}
    if status == "running":
        fields["lease"] = lease(ends=NOW)
    spent = claim(task(status, **fields), attempt=5)
    assert isinstance(spent, Spent)
    assert (spent.status, spent.error.failure_class, spent.needs_person) == ("dead", "infrastructure", True)
    assert spent.error.attempt == 5
    assert "the last error was: late" in spent.error.message
    assert isinstance(claim(task(executions=7)), Claimed)


def test_without_an_error_a_task_that_spent_its_executions_is_stranded() -> None:
    assert claim(task(executions=8)).error.failure_class == "stranded_pipeline"


def test_running_without_a_lease_is_judged_by_the_steps_time_to_live() -> None:
    """An older writer's worker holds none."""
    old = task("running", lease=None, started_at=ago(minutes=14))
    assert claim(old) == Later("another worker holds the lease", timedelta(minutes=1), duplicate=True)
    assert claim(task("running", lease=None, started_at=ago(minutes=15))).took_over
    assert claim(task("running", lease=None, started_at=None, queued_at=None)).took_over


def test_a_render_that_is_submitted_already_is_taken_up_again_without_counting_a_reap() -> None:
    """Its lease was given up on purpose: the claim asks for it and restarts its polls."""
    found = task(
        "running", step_type="render", lease=None, render=Render(uid="u", submitted_at=NOW), started_at=ago(minutes=1)
    )
    claimed = claim(found, step="render")
    assert claimed.took_over
    assert claimed.task.reap_count == 0
    assert claimed.task.render.uid == "u"


@pytest.mark.parametrize("status", ["pending", "waiting"])
def test_a_message_ahead_of_its_task_backs_off_and_is_deleted_at_its_last_receive(status: str) -> None:
    assert claim(task(status), receives=2) == Later(f"out of order: the task is {status}", timedelta(seconds=60))
    assert isinstance(claim(task(status), receives=3), Drop)


def test_a_clock_that_went_back_only_makes_a_claim_wait() -> None:
    decision = claim(task("running", lease=lease(ends=ahead(hours=2)), started_at=ahead(hours=1)))
    assert decision.delay == timedelta(hours=2)
