"""Which pending jobs start, and what cancelled jobs leave behind."""

from __future__ import annotations

import pytest

from mos.domain.dispatching import decide_cancellation, decide_start, free_slots
from mos.domain.model import SendState
from mos.domain.transitions import By
from tests.builders import NOW, ahead, job, task


@pytest.mark.parametrize(
    ("processing", "limit", "paused", "free"),
    [(0, 3, False, 3), (2, 3, False, 1), (3, 3, False, 0), (5, 3, False, 0), (0, 3, True, 0), (0, 0, False, 0)],
)
def test_slots_are_what_the_processing_jobs_leave(processing: int, limit: int, paused: bool, free: int) -> None:
    assert free_slots(processing=processing, max_concurrent_jobs=limit, paused=paused) == free


def test_starting_a_job_queues_every_task_whose_dependencies_are_completed() -> None:
    """After a repair these need not be the roots."""
    tasks = [
        task("completed", id="a"),
        task("pending", id="root"),
        task("pending", id="repaired", depends_on=["a"], attempt=2, resends=3, not_before=ahead(hours=1)),
        task("waiting", id="ready", depends_on=["a"]),
        task("waiting", id="not-yet", depends_on=["a", "root"]),
        task("running", id="kept"),
        task("failed", id="gone"),
        task("waiting", id="behind-the-kept", depends_on=["kept"]),
    ]
    commit = decide_start(job("pending"), tasks, now=NOW)
    assert commit.by is By.DISPATCH
    assert [change.after.id for change in commit.tasks] == ["root", "repaired", "ready"]
    assert {(c.after.status, c.after.send.state, c.after.queued_at) for c in commit.tasks} == {
        ("queued", SendState.UNSENT, NOW)
    }
    repaired = commit.tasks[1].after
    assert (repaired.attempt, repaired.resends, repaired.not_before) == (2, 0, None)
    started = commit.jobs[0]
    assert (started.after.status, started.after.status_changed_at, started.check_at) == ("processing", NOW, None)


def test_a_job_with_nothing_left_to_do_is_examined_at_once() -> None:
    """Its last work ended while it waited for a slot: three hours of silence would follow."""
    assert decide_start(job("pending"), [task("completed", id="a")], now=NOW).jobs[0].check_at == NOW
    assert decide_start(job("pending"), [task("running", id="a")], now=NOW).jobs[0].check_at is None


def test_cancellation_ends_everything_open_and_takes_the_lease_of_what_runs() -> None:
    statuses = ["pending", "waiting", "queued", "running", "completed", "failed", "dead", "cancelled"]
    tasks = [task(status, id=status, not_before=ahead(hours=1)) for status in statuses]
    commit = decide_cancellation(job("cancelled"), tasks)
    assert [change.after.id for change in commit.tasks] == statuses[:4]
    assert {(c.after.status, c.after.lease, c.after.not_before) for c in commit.tasks} == {("cancelled", None, None)}
    assert [(change.after.status, change.open_tasks) for change in commit.jobs] == [("cancelled", False)]
