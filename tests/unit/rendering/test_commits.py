"""Acts as commits: each passes the laws, and says what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.changes import Commit
from mos.domain.drivers import Driver, driver_of_task
from mos.domain.laws import check_shape, check_task
from mos.domain.model import Job, TaskStatus
from mos.domain.rendering import HostLoss, Missing, Output, OutputSeen, RenderActKind, RenderEvidence, StoreSeen
from mos.domain.rendering.commits import (
    commit_adoption,
    commit_look,
    commit_requeue,
    commit_resend,
    commit_strand,
    passes_fence,
    poll_message,
)
from mos.domain.staleness import QueueState
from mos.domain.transitions import By
from tests.builders import NOW, ago, ahead, job, lease, policy, task

PROCESSING = job(kind="shot_video")
LOST = {"mos-deliver": QueueState("mos-deliver", ((0, 0), (0, 0)), None, None)}


def lawful(commit: Commit, owner: Job = PROCESSING) -> Any:
    """The first task as the commit leaves it, after the checks of the write gateway."""
    check_shape(commit)
    assert commit.by is By.RENDER_RECOVERY
    after = {change.after.id: change.after for change in commit.jobs}
    for change in commit.tasks:
        check_task(change, commit.by, driver_of_task(change.after, after.get("j", owner), policy()))
    return commit.tasks[0].after


def test_a_new_submission_is_a_new_attempt_without_a_uid(make: Any) -> None:
    """Whoever claims it stores a fresh uid before it submits; the history and the generation stay."""
    found = make.task()
    act = make.decide(found, make.evidence())
    after = lawful(commit_requeue(act, found, PROCESSING, now=NOW))
    assert (after.status, after.attempt, after.unsent, after.queued_at) == ("queued", 1, True, NOW)
    assert (after.render.uid, after.render.submitted_at, after.render.poll_generation) == (None, None, 7)
    assert [(spent.uid, spent.outcome) for spent in after.render.attempts] == [("u1", "missing")]
    assert (after.reap_count, after.executions) == (0, 1)


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_under_a_job_that_does_not_proceed_it_waits_for_its_job(make: Any, status: str) -> None:
    found = make.task()
    stopped = job(status, kind="shot_video")
    commit = commit_requeue(make.decide(found, make.evidence()), found, stopped, now=NOW)
    assert commit.tasks[0].before == found
    after = lawful(commit, stopped)
    assert (after.status, after.attempt, after.render.uid) == ("pending", 1, None)


def test_a_reaped_delivery_is_a_new_attempt_and_counted(make: Any) -> None:
    found = task("running", id="j.deliver", shot_id=None, step_type="deliver", lease=lease(ends=ago(minutes=9)))
    act = make.decide(found, RenderEvidence(queues=LOST))
    after = lawful(commit_requeue(act, found, PROCESSING, now=NOW))
    assert (after.status, after.attempt, after.reap_count, after.lease) == ("queued", 1, 1, None)


def test_a_re_sent_message_spends_neither_attempt_nor_reap(make: Any) -> None:
    found = task("queued", id="j.deliver", shot_id=None, step_type="deliver", queued_at=ago(minutes=11))
    act = make.decide(found.replace(send={"state": "sent", "at": ago(minutes=11)}), RenderEvidence(queues=LOST))
    assert act.kind is RenderActKind.RESEND
    after = lawful(commit_resend(act, act.task, now=NOW))
    assert (after.attempt, after.reap_count, after.resends, after.unsent) == (0, 0, 1, True)


def test_a_re_poll_starts_the_next_generation_and_the_late_original_is_stale(make: Any) -> None:
    found = make.task(make.render(submitted_at=ago(minutes=9), last_polled_at=ago(minutes=4), missing_since=None))
    commit = commit_look(make.decide(found, make.evidence()), found)
    after = lawful(commit)
    assert (after.render.poll_generation, commit.tasks[0].check_at) == (8, ahead(minutes=5))
    message = poll_message(after)
    assert (message.step_type, message.poll_generation, message.attempt) == ("render_poll", 8, 0)


def test_a_re_poll_takes_the_ended_lease_of_a_submitter_that_died(make: Any) -> None:
    """Should it wake up, its late write is fenced off."""
    render = make.render(submitted_at=ago(minutes=9), last_polled_at=None, missing_since=None)
    found = make.task(render, lease=lease(ends=ago(minutes=3)))
    assert lawful(commit_look(make.decide(found, make.evidence()), found)).lease is None


def test_a_suspicion_is_remembered_and_looked_at_again(make: Any) -> None:
    found = make.task(make.render(missing_since=None, unanswered_since=ago(minutes=9)))
    commit = commit_look(make.decide(found, make.evidence()), found)
    after = lawful(commit)
    assert (after.render.missing_since, commit.tasks[0].check_at) == (NOW, ahead(seconds=60))
    assert isinstance(driver_of_task(after, PROCESSING, policy()), Driver)


def test_an_adopted_output_completes_the_render_and_queues_the_delivery(make: Any) -> None:
    found = make.task(next=("j.deliver",))
    deliver = task("waiting", id="j.deliver", shot_id=None, step_type="deliver", depends_on=("j.render",))
    act = make.decide(found, make.evidence(outputs={"u1": OutputSeen(Output.SOUND, "renders/u1.mp4")}))
    completed = commit_adoption(
        act, found, PROCESSING, successors=[deliver], dependencies={}, other_open_tasks=False, now=NOW
    )
    after = lawful(completed.commit)
    assert (after.status, after.output_key, after.render.uid) == ("completed", "renders/u1.mp4", "u1")
    assert [queued.id for queued in completed.queued] == ["j.deliver"]


def test_a_stranded_render_fails_with_its_job_and_keeps_the_history(make: Any) -> None:
    spent = make.task(make.render(attempts=[{"uid": f"u{n}", "submittedAt": ago(hours=1)} for n in range(3)]))
    act = make.decide(spent, make.evidence())
    commit = commit_strand(act, spent, PROCESSING, queued_siblings=[], dependants=[], now=NOW)
    after = lawful(commit)
    assert (after.status, after.error.failure_class) == ("failed", "stranded_pipeline")
    assert after.render.attempts[-1].outcome == "missing"
    assert (commit.jobs[0].after.status, commit.jobs[0].after.production_incident) == ("failed", None)


def test_a_dead_render_needs_a_person(make: Any) -> None:
    spent = make.task(executions=8)
    act = make.decide(spent, make.evidence(hosts={"i-1": HostLoss(ago(minutes=1))}))
    commit = commit_strand(act, spent, PROCESSING, queued_siblings=[], dependants=[], now=NOW)
    assert lawful(commit).status is TaskStatus.DEAD
    assert commit.jobs[0].after.production_incident.status == "operator_required"


@pytest.mark.parametrize(
    "change",
    [
        {"status": "completed"},
        {"attempt": 1},
        {"lease": lease()},
        {"render": {"uid": "u2"}},
        {"render": {"uid": "u1", "pollGeneration": 8}},
    ],
)
def test_what_changed_since_it_was_observed_is_overtaken(make: Any, change: dict[str, Any]) -> None:
    found = make.task()
    assert passes_fence(found, found.replace(last_progress_at=NOW))
    assert not passes_fence(found, found.replace(**change))
    assert not passes_fence(found, None)


def test_an_empty_store_seen_with_nothing_active_is_trusted(make: Any) -> None:
    evidence = make.evidence(store=StoreSeen(healthy=True, census=make.others(), active=frozenset()))
    assert make.decide(make.task(), evidence).kind is RenderActKind.SUBMIT
    assert evidence.answers == {"u1": Missing()}
