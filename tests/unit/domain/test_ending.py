"""How a task ends badly: task, shots, siblings, job and notification in one commit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mos.domain.changes import Commit
from mos.domain.ending import decide_end, fed_shots, notification, task_error
from mos.domain.errors import FailureClass
from mos.domain.model import IncidentStatus, Retry, Shot, ShotStatus, TaskStatus
from mos.domain.transitions import By
from tests.builders import NOW, ahead, error, incident, job, task

SHOTS = {"s1": Shot(), "s2": Shot(status="completed", output_key="k"), "s3": Shot()}


def end(found: Any, of: Any, **fields: Any) -> Commit:
    given: dict[str, Any] = {
        "status": TaskStatus.FAILED,
        "error": error(),
        "by": By.REAPER,
        "act": "strand",
        "now": NOW,
    }
    given |= {"queued_siblings": [], "dependants": []} | fields
    return decide_end(found, of, **given)


def test_one_commit_fails_task_shot_and_job_and_tells_people() -> None:
    commit = end(task("running"), job(shots=SHOTS), failures=3)
    ended, failed = commit.tasks[0].after, commit.jobs[0].after
    assert (ended.status, ended.lease, ended.not_before, ended.failures) == ("failed", None, None, 3)
    assert (failed.status, failed.status_changed_at, failed.error) == ("failed", NOW, error())
    assert {name: shot.status for name, shot in failed.shots.items()} == {
        "s1": ShotStatus.FAILED,
        "s2": ShotStatus.COMPLETED,
        "s3": ShotStatus.PENDING,
    }
    assert len(commit.new) == 1


def test_a_task_that_feeds_several_shots_fails_them_all() -> None:
    upstream = task("running", shot_id=None)
    dependants = [task("waiting", shot_id="s1"), task("waiting", shot_id="s3"), task("waiting", shot_id=None)]
    failed = end(upstream, job(shots=SHOTS), dependants=dependants).jobs[0].after
    assert [name for name, shot in failed.shots.items() if shot.status is ShotStatus.FAILED] == ["s1", "s3"]


def test_a_task_of_one_shot_fails_that_shot_whatever_depends_on_it() -> None:
    assert fed_shots(task(shot_id="s1"), [task(shot_id="s2")]) == {"s1"}


def test_queued_siblings_wait_for_their_job_as_a_new_attempt() -> None:
    """So that their messages, which are still under way, are stale."""
    own = task("running")
    sibling = task("queued", id="x", attempt=4, not_before=ahead(minutes=1), resends=2)
    changes = end(own, job(), queued_siblings=[sibling, own]).tasks
    assert [change.after.id for change in changes] == [own.id, "x"]
    back = changes[1].after
    assert (back.status, back.attempt, back.not_before, back.resends, back.queued_at) == ("pending", 5, None, 0, None)


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_job_that_has_ended_is_left_as_it_is(status: str) -> None:
    commit = end(task("running"), job(status), queued_siblings=[task("queued", id="x")])
    assert (len(commit.tasks), commit.jobs, commit.new) == (1, (), ())


def test_work_that_outlived_a_retry_fails_its_job_even_before_that_has_a_slot() -> None:
    """Left pending, the job would start, wait for that task for ever, or complete without it."""
    assert end(task("running"), job("pending")).jobs[0].after.status == "failed"


def test_past_the_joint_budget_the_incident_needs_a_person_at_once() -> None:
    of = job(retry=Retry(attempts=2), production_incident=incident("retrying"))
    opened = end(task("running"), of, status=TaskStatus.DEAD, needs_person=True).jobs[0].after.production_incident
    assert (opened.status, opened.attempt_count, opened.failure_class) == ("operator_required", 2, "provider_timeout")
    assert (opened.reason, opened.correlation_id, opened.detected_at) == ("late", "c", NOW)
    assert end(task("running"), job(), needs_person=True).jobs[0].after.production_incident.attempt_count == 0


def test_otherwise_the_incident_is_left_to_production_retry() -> None:
    of = job(production_incident=incident("retrying"))
    assert end(task("running"), of).jobs[0].after.production_incident.status is IncidentStatus.RETRYING


def test_an_error_is_made_storable_and_bound_to_its_attempt() -> None:
    made = task_error(
        task(attempt=3), failure_class=FailureClass.UNKNOWN, code="a" * 300, message="x\ud800\x00" + "y" * 9000, now=NOW
    )
    assert (made.attempt, made.task_id, made.step) == (3, "j.s1.upscale", "upscale")
    assert len(made.message) == 2000
    assert len(made.code) == 100
    made.message.encode("utf-8")


def test_a_notification_is_one_document_per_job_class_code_and_hour() -> None:
    first = notification(job(), error(), NOW)
    assert first.path == "notifications/j:provider_timeout:524:20260329T01"
    assert notification(job(), error(), NOW + timedelta(minutes=29)).path == first.path
    assert notification(job(), error(), NOW + timedelta(minutes=30)).path != first.path
    assert notification(job(), error(code="500"), NOW).path != first.path
    assert first.fields["send"]["state"] == "unsent"


def test_a_strangers_code_does_not_choose_the_notifications_path() -> None:
    path = notification(job(), error(code="a/b/../c\n"), NOW).path
    assert path.count("/") == 1
    assert "\n" not in path


@pytest.mark.parametrize(("cls", "severity"), [("provider_timeout", "warning"), ("provider_rejection", "critical")])
def test_what_needs_a_person_is_critical(cls: str, severity: str) -> None:
    assert notification(job(), error(cls), NOW).fields["severity"] == severity
