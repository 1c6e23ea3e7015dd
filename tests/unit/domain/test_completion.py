"""What completing a task changes, and who may no longer do so."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.completion import Completed, decide_completion, fence
from mos.domain.model import IncidentStatus, JobStatus, SendState, Shot, ShotStatus, TaskStatus
from tests.builders import NOW, ahead, error, incident, job, lease, task

DONE, WAITING = TaskStatus.COMPLETED, TaskStatus.WAITING


def complete(
    found: Any, of: Any = None, *, successors: Any = (), dependencies: Any = None, others: bool = True
) -> Completed:
    return decide_completion(
        found,
        of or job(),
        output_key="out/1.png",
        successors=successors,
        dependencies=dependencies or {},
        other_open_tasks=others,
        now=NOW,
    )


def after_job(done: Completed) -> Any:
    return done.commit.jobs[0].after


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "the task is gone"),
        (task("queued", attempt=2), "the task is queued"),
        (task("completed", attempt=2), "the task is completed"),
        (task("running", attempt=3), "attempt 2 was superseded by 3"),
        (task("running", attempt=2, lease=lease(token="other")), "the lease belongs to somebody else"),
        (task("running", attempt=2, lease=None), "the lease belongs to somebody else"),
        (task("running", attempt=2), None),
    ],
)
def test_only_the_holder_of_the_current_lease_may_change_a_task(found: Any, why: str | None) -> None:
    assert fence(found, token="token-a", attempt=2) == why


def test_a_completed_task_keeps_its_result_and_loses_lease_and_error() -> None:
    done = complete(task("running", error=error())).commit.tasks[0].after
    assert (done.status, done.output_key, done.completed_at, done.last_progress_at) == (DONE, "out/1.png", NOW, NOW)
    assert (done.lease, done.error) == (None, None)


def test_a_successor_whose_dependencies_are_all_completed_is_queued_unsent_in_the_same_commit() -> None:
    successor = task("waiting", id="n", depends_on=["j.s1.upscale", "d"], resends=2, not_before=ahead(hours=1))
    done = complete(task("running"), successors=[successor], dependencies={"d": DONE})
    (queued,) = done.queued
    assert (queued.status, queued.send.state, queued.queued_at) == (TaskStatus.QUEUED, SendState.UNSENT, NOW)
    assert (queued.not_before, queued.resends, queued.attempt) == (None, 0, 0)
    assert [change.after.id for change in done.commit.tasks] == ["j.s1.upscale", "n"]


@pytest.mark.parametrize("other", [None, *(s for s in TaskStatus if s is not DONE)])
def test_fan_in_waits_for_every_dependency(other: TaskStatus | None) -> None:
    successor = task("waiting", id="n", depends_on=["j.s1.upscale", "d"])
    given = {"d": other} if other else {}
    done = complete(task("running"), successors=[successor], dependencies=given, others=False)
    assert done.queued == ()
    assert all(change.after.status is not JobStatus.COMPLETED for change in done.commit.jobs)


@pytest.mark.parametrize("status", [s for s in TaskStatus if s is not WAITING])
def test_only_a_waiting_successor_is_queued(status: TaskStatus) -> None:
    successor = task(status, id="n", depends_on=["j.s1.upscale"])
    assert complete(task("running"), successors=[successor]).queued == ()


@pytest.mark.parametrize("status", [s for s in JobStatus if s is not JobStatus.PROCESSING])
def test_under_a_job_that_does_not_proceed_a_completion_is_recorded_and_queues_nothing(status: JobStatus) -> None:
    successor = task("waiting", id="n", depends_on=["j.s1.upscale"])
    done = complete(task("running"), job(status), successors=[successor], others=False)
    assert done.queued == ()
    assert [change.after.status for change in done.commit.tasks] == [DONE]
    assert all(change.after.status is status for change in done.commit.jobs)


@pytest.mark.parametrize("status", [s for s in JobStatus if s is not JobStatus.PROCESSING])
def test_the_last_open_task_does_not_move_a_job_that_does_not_proceed(status: JobStatus) -> None:
    done = complete(task("running"), job(status, shots={"s1": Shot()}), others=False)
    assert [change.after.status for change in done.commit.jobs] == [status]


def test_the_last_task_of_a_shot_settles_it_and_keeps_what_the_shot_came_with() -> None:
    shots = {"s1": Shot(status="pending", legacy=7), "s2": Shot()}
    done = complete(task("running"), job(shots=shots))
    settled = after_job(done).shots["s1"]
    assert (settled.status, settled.output_key, settled.model_extra) == (
        ShotStatus.COMPLETED,
        "out/1.png",
        {"legacy": 7},
    )
    assert after_job(done).shots["s2"] == Shot()


def test_a_task_with_a_successor_in_its_shot_does_not_touch_the_job_document() -> None:
    successor = task("waiting", id="n", depends_on=["j.s1.upscale"])
    assert complete(task("running"), job(shots={"s1": Shot()}), successors=[successor]).commit.jobs == ()


def test_a_task_without_a_shot_settles_none() -> None:
    assert complete(task("running", shot_id=None)).commit.jobs == ()


def test_the_last_open_task_completes_its_job_and_resolves_its_incident() -> None:
    retried = job(production_incident=incident("retrying"))
    done = after_job(complete(task("running"), retried, others=False))
    assert (done.status, done.status_changed_at) == (JobStatus.COMPLETED, NOW)
    assert done.production_incident.status is IncidentStatus.RESOLVED
    assert after_job(complete(task("running"), job(), others=False)).production_incident is None


@pytest.mark.parametrize("status", ["pending", "waiting", "queued", "running"])
def test_a_job_with_an_open_successor_is_not_completed(status: str) -> None:
    successor = task(status, id="n", depends_on=["j.s1.upscale", "d"], shot_id=None)
    done = complete(task("running"), successors=[successor], others=False)
    assert all(change.after.status is JobStatus.PROCESSING for change in done.commit.jobs)


def test_a_job_with_other_open_tasks_is_not_completed() -> None:
    done = complete(task("running"), job(shots={"s1": Shot()}), others=True)
    assert after_job(done).status is JobStatus.PROCESSING
