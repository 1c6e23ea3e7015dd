"""Stranded renders: the completion callback was lost (§3.3 rule 1)."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.changes import Commit
from mos.domain.drivers import driver_of_job, driver_of_task
from mos.domain.laws import check_job, check_shape, check_task
from mos.domain.model import Job, Shot, Task
from mos.domain.rendering import StrandedKind, decide_stranded
from tests.builders import NOW, ago, job, policy, task

FLAGGED = {"kind": "shot_video", "needs_ae_rerender": True}


def a_job(*shots: str, **fields: Any) -> Job:
    named = {f"s{n}": Shot(status=status, output_key=f"k{n}") for n, status in enumerate(shots or ["completed"], 1)}
    return job(**({"shots": named} | FLAGGED | fields))


def a_chain(render: str, *, upscale: str = "completed", deliver: str = "waiting") -> list[Task]:
    finish = {"shot_id": None, "lease": None}
    return [
        task(upscale, next=("j.render",), output_key=None),
        task(render, **finish, id="j.render", step_type="render", depends_on=("j.s1.upscale",), next=("j.deliver",)),
        task(deliver, **finish, id="j.deliver", step_type="deliver", depends_on=("j.render",)),
    ]


def lawful(commit: Commit) -> Commit:
    """Every change passes the checks of the write gateway."""
    check_shape(commit)
    (changed,) = commit.jobs
    for change in commit.tasks:
        check_task(change, commit.by, driver_of_task(change.after, changed.after, policy()))
    check_job(changed, commit.by, driver_of_job(changed.after, policy(), now=NOW))
    return commit


@pytest.mark.parametrize("render", ["waiting", "pending"])
def test_a_render_that_was_never_queued_is_queued_and_the_flag_cleared(render: str) -> None:
    act = decide_stranded(a_job(), a_chain(render), now=NOW)
    assert act is not None
    assert act.kind is StrandedKind.QUEUE
    (change,) = lawful(act.commit).tasks
    assert (change.after.id, change.after.unsent, change.after.queued_at) == ("j.render", True, NOW)
    assert not act.commit.jobs[0].after.needs_ae_rerender


def test_output_ready_shots_are_normalised_with_their_tasks() -> None:
    act = decide_stranded(a_job("output_ready"), a_chain("waiting", upscale="running"), now=NOW)
    assert act is not None
    done, queued = lawful(act.commit).tasks
    assert (done.after.status, done.after.output_key, done.after.completed_at) == ("completed", "k1", NOW)
    assert queued.after.id == "j.render"
    assert act.commit.jobs[0].after.shots["s1"].status == "completed"
    assert act.commit.jobs[0].after.shots["s1"].output_key == "k1"


def test_ended_tasks_of_output_ready_shots_stay_as_they_are() -> None:
    act = decide_stranded(a_job("output_ready"), a_chain("waiting", upscale="completed"), now=NOW)
    assert act is not None
    assert [change.after.id for change in lawful(act.commit).tasks] == ["j.render"]


@pytest.mark.parametrize("render", ["queued", "running", "failed", "dead", "cancelled"])
def test_a_flag_beside_any_other_render_is_cleared(render: str) -> None:
    act = decide_stranded(a_job(), a_chain(render), now=NOW)
    assert act is not None
    assert (act.kind, act.commit.tasks) == (StrandedKind.CLEAR, ())
    assert not lawful(act.commit).jobs[0].after.needs_ae_rerender


def test_a_flag_on_a_job_without_a_render_is_cleared() -> None:
    act = decide_stranded(a_job(), [task("completed")], now=NOW)
    assert act is not None
    assert act.kind is StrandedKind.CLEAR


def test_a_flag_beside_a_completed_render_makes_a_new_one_with_its_own_delivery() -> None:
    """The completed task stays completed."""
    act = decide_stranded(a_job(), a_chain("completed", deliver="running"), now=NOW)
    assert act is not None
    assert act.kind is StrandedKind.RENDER_AGAIN
    render, deliver = (change.after for change in act.commit.tasks)
    assert all(change.before is None for change in act.commit.tasks)
    assert (render.id, render.status, render.unsent, render.next) == ("j.render.2", "queued", True, ("j.deliver.2",))
    assert (deliver.id, deliver.status, deliver.depends_on) == ("j.deliver.2", "waiting", ("j.render.2",))
    assert render.depends_on == ("j.s1.upscale",)


def test_the_newest_render_decides_after_a_second_one() -> None:
    chain = a_chain("completed", deliver="completed")
    first = decide_stranded(a_job(), chain, now=NOW)
    assert first is not None
    both = [*chain, *(change.after for change in first.commit.tasks)]
    again = decide_stranded(a_job(), both, now=NOW)
    assert again is not None
    assert again.kind is StrandedKind.CLEAR
    ended = [found if found.terminal else found.replace(status="completed") for found in both]
    third = decide_stranded(a_job(), ended, now=NOW)
    assert third is not None
    assert [change.after.id for change in third.commit.tasks] == ["j.render.3", "j.deliver.3"]


def test_it_is_done_once() -> None:
    act = decide_stranded(a_job(), a_chain("waiting"), now=NOW)
    assert act is not None
    assert decide_stranded(act.commit.jobs[0].after, a_chain("queued"), now=NOW) is None


@pytest.mark.parametrize(
    "other",
    [
        {"status": "failed"},
        {"status": "pending"},
        {"status": "completed"},
        {"status": "cancelled"},
        {"needs_ae_rerender": False},
        {"shots": {"s1": Shot(status="processing")}},
        {"shots": {"s1": Shot(status="completed"), "s2": Shot(status="failed")}},
        {"shots": {}},
    ],
)
def test_any_other_job_is_not_touched(other: dict[str, Any]) -> None:
    """A flag on a job with unsettled shots is stalled-jobs' affair."""
    assert decide_stranded(a_job(**other), a_chain("waiting"), now=ago(days=-9)) is None
