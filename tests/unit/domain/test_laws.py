"""What the gateway refuses, whoever asks."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.drivers import Driver, Undriven, ViaJob
from mos.domain.errors import LawViolation
from mos.domain.laws import check_job, check_shape, check_task
from mos.domain.model import Render
from mos.domain.transitions import By
from tests.builders import NOW, ago, error, job, lease, task

DRIVEN = Driver(By.REAPER, NOW)


def refused(before: Any, after: Any, by: By = By.WORKER, driver: Any = DRIVEN) -> str | None:
    """The code of the refusal; None where the change is allowed."""
    try:
        check_task(TaskChange(before, after, "why"), by, driver)
    except LawViolation as violation:
        assert after.id in str(violation)  # noqa: PT017 - both outcomes are answers
        return violation.code
    return None


def test_a_legal_change_passes() -> None:
    assert refused(task("queued"), task("running")) is None
    assert refused(None, task("pending"), By.PRODUCER, ViaJob("j")) is None


def test_a_transition_outside_the_table_is_refused() -> None:
    assert refused(task("queued"), task("completed")) == "illegal_transition"
    assert refused(None, task("running"), By.PRODUCER) == "illegal_transition"


def test_a_legal_transition_by_the_wrong_hand_is_refused() -> None:
    assert refused(task("queued"), task("running"), By.REAPER) == "illegal_transition"


def test_a_take_over_is_a_transition_of_its_own() -> None:
    mine, theirs = task("running", lease=lease(token="a")), task("running", lease=lease(token="b"))
    assert refused(mine, theirs, By.WORKER) is None
    assert refused(mine, theirs, By.REAPER) == "illegal_transition"
    assert refused(task("running", lease=None), theirs, By.REAPER) == "illegal_transition"
    assert refused(mine, mine.replace(resends=1), By.REAPER) is None


@pytest.mark.parametrize("status", ["completed", "failed", "dead", "cancelled"])
def test_a_terminal_task_is_not_rewritten_but_for_its_driver(status: str) -> None:
    before = task(status, check_by="reaper")
    assert refused(before, before.replace(output_key="other")) == "terminal_rewritten"
    assert refused(before, before.replace(check_by=None)) is None


def test_the_fencing_number_never_goes_back() -> None:
    assert refused(task("queued", attempt=2), task("running", attempt=1)) == "attempt_went_back"


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        ("queued", "pending", By.WORKER),
        ("queued", "waiting", By.OPERATOR),
        ("running", "pending", By.REAPER),
        ("failed", "pending", By.OPERATOR),
        ("failed", "waiting", By.PRODUCTION_RETRY),
        ("dead", "pending", By.OPERATOR),
        ("dead", "waiting", By.OPERATOR),
    ],
)
def test_what_goes_back_to_its_job_starts_exactly_one_new_attempt(before: str, after: str, by: By) -> None:
    assert refused(task(before, attempt=1), task(after, attempt=1), by) == "same_attempt"
    assert refused(task(before, attempt=1), task(after, attempt=3), by) == "same_attempt"
    assert refused(task(before, attempt=1, executions=0), task(after, attempt=2), by) is None


@pytest.mark.parametrize("name", ["reap_count", "failures", "executions"])
def test_what_was_spent_stays_spent(name: str) -> None:
    before, after = task("queued", **{name: 2}), task("queued", **{name: 1})
    assert refused(before, after, By.WORKER) == "budget_went_back"
    assert refused(before, after, By.OPERATOR) is None
    assert refused(before, after, By.PRODUCTION_RETRY) == ("budget_went_back" if name == "executions" else None)


def test_only_a_running_task_holds_a_lease() -> None:
    assert refused(task("running"), task("queued", lease=lease(), executions=1)) == "stray_lease"


def test_a_task_runs_under_a_lease() -> None:
    assert refused(task("queued"), task("running", lease=None)) == "no_lease"
    assert refused(task("running"), task("running", lease=None)) == "no_lease"


def test_a_submitted_render_and_an_older_writers_task_run_without_one() -> None:
    submitted = {"step_type": "render", "render": Render(uid="u", submitted_at=NOW)}
    assert refused(task("running", **submitted), task("running", lease=None, **submitted)) is None
    assert refused(task("running", lease=None), task("running", lease=None, resends=1), By.REAPER) is None


def test_a_task_that_becomes_queued_says_since_when() -> None:
    assert refused(task("running"), task("queued", queued_at=None, executions=1)) == "no_queued_at"
    assert refused(task("queued", queued_at=None), task("queued", queued_at=None, resends=1), By.REAPER) is None


def test_a_change_that_leaves_nobody_in_charge_is_refused() -> None:
    assert refused(task("queued"), task("running"), By.WORKER, Undriven("nobody")) == "no_driver"


def test_a_jobs_change_obeys_table_and_driver() -> None:
    check_job(JobChange(job("pending"), job("processing"), "why"), By.DISPATCH, DRIVEN)
    check_job(JobChange(job("failed"), job("failed", error=error()), "why"), By.WORKER, DRIVEN)
    for before, after, by in [("completed", "failed", By.WORKER), ("pending", "processing", By.WORKER)]:
        with pytest.raises(LawViolation, match="not in the table") as caught:
            check_job(JobChange(job(before), job(after), "why"), by, DRIVEN)
        assert caught.value.code == "illegal_transition"
    with pytest.raises(LawViolation, match="nobody would drive it"):
        check_job(JobChange(job("pending"), job("processing"), "why"), By.DISPATCH, Undriven("x"))
    with pytest.raises(LawViolation, match="new → processing"):
        check_job(JobChange(None, job("processing"), "why"), By.PRODUCER, DRIVEN)


def test_a_document_is_changed_once_in_a_commit() -> None:
    change = TaskChange(task("queued"), task("running"), "why")
    other = TaskChange(task("queued", id="b"), task("running", id="b"), "why")
    same_name = JobChange(None, job("pending", id=change.after.id), "why")
    check_shape(Commit(By.WORKER, "x", "c", tasks=(change, other), jobs=(same_name,)))
    with pytest.raises(LawViolation, match=r"task j\.s1\.upscale is changed twice"):
        check_shape(Commit(By.WORKER, "x", "c", tasks=(change, other, change)))


def test_a_commit_without_changes_is_empty() -> None:
    assert Commit(By.WORKER, "x", "c").empty
    assert not Commit(By.WORKER, "x", "c", tasks=(TaskChange(task(), task(queued_at=ago(hours=1)), ""),)).empty
