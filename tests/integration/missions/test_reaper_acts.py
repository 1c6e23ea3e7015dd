"""Each of the reaper's commits, field by field, and the fences in front of them."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import firestore

from mos.domain.model import JobStatus, TaskStatus
from mos.domain.reaping import ReapKind
from mos.missions.base import Outcome
from tests.crash.mission_scenes import claim, messages, mission_place
from tests.integration.missions.conftest import TICK, Place, quiet

__all__ = ["quiet"]

TWO_SHOTS = {"a": {"n": 1}, "b": {"n": 2}}
TASK = "j.a.reap"


@pytest.fixture
def place() -> Any:
    with mission_place() as entered:
        yield entered


def orphan(place: Place, **fields: Any) -> None:
    """One of two shots' tasks runs and lost worker and message; the other's waits in another queue's stead."""
    place.world.submit("j", "reap", TWO_SHOTS)
    claim(place.world, TASK)
    place.lose("q-reap")
    place.world.look.document("tasks/j.b.reap").update({"checkAt": place.world.now.replace(year=2030)})
    if fields:
        place.world.patch(TASK, **fields)
    place.world.runtime.sleep(2 * TICK)


def test_a_reaped_task_starts_a_clean_attempt(place: Place) -> None:
    """No lease, no back-off, no re-sends of the attempt before; queued now; its first start stays for people."""
    orphan(place, notBefore=place.world.now.replace(year=2030), resends=2)
    started = place.world.task(TASK).started_at
    before = place.world.now
    place.reap()
    task = place.world.task(TASK)
    assert (task.status, task.attempt, task.lease, task.not_before, task.resends) == (
        TaskStatus.QUEUED,
        1,
        None,
        None,
        0,
    )
    assert task.queued_at is not None
    assert task.queued_at >= before
    assert task.started_at == started


def test_a_resent_task_waits_anew_from_the_resend_on(place: Place) -> None:
    place.world.submit("j", "resend", {"a": {}})
    place.lose("q-resend")
    place.world.runtime.sleep(1900)
    before = place.world.now
    place.reap()
    task = place.world.task("j.a.resend")
    assert (task.resends, task.attempt) == (1, 0)
    assert task.queued_at is not None
    assert task.queued_at >= before
    assert task.check_at is not None
    assert (task.check_at - task.queued_at).total_seconds() >= 1800


def test_stranding_fails_one_shot_and_sends_its_queued_siblings_back_to_their_job(place: Place) -> None:
    orphan(place, reapCount=3)
    place.reap()
    job, sibling = place.world.job("j"), place.world.task("j.b.reap")
    assert (job.status, job.shots["a"].status, job.shots["b"].status) == (JobStatus.FAILED, "failed", "pending")
    assert (sibling.status, sibling.attempt, sibling.check_by) == (TaskStatus.PENDING, 1, None)
    assert (job.check_by, job.production_incident) == ("production-retry", None)


def test_stranding_a_task_that_feeds_several_shots_fails_them_all(place: Place) -> None:
    """`cascade_input_chain_failure`: it has no shot of its own, and what follows it has."""
    place.world.submit("j", "chain", TWO_SHOTS)
    name = "j.a.reap"
    claim(place.world, name)
    place.lose("q-reap")
    following = ["j.a.resend", "j.b.resend"]
    place.world.patch(name, reapCount=3, shotId=firestore.DELETE_FIELD, next=following)
    place.world.runtime.sleep(2 * TICK)
    place.reap()
    assert {shot.status for shot in place.world.job("j").shots.values()} == {"failed"}


def changed_status(place: Place) -> None:
    place.world.patch(TASK, status="cancelled", lease=firestore.DELETE_FIELD)


def changed_status_alone(place: Place) -> None:
    place.world.patch(TASK, status="cancelled")


def changed_attempt(place: Place) -> None:
    place.world.patch(TASK, attempt=7)


def renewed(place: Place) -> None:
    place.world.patch(TASK, **{"lease.expiresAt": place.world.now})


def removed(place: Place) -> None:
    place.world.look.document(f"tasks/{TASK}").delete()


@pytest.mark.parametrize("meanwhile", [changed_status, changed_status_alone, changed_attempt, renewed, removed])
@pytest.mark.parametrize("reaps", [0, 3])
def test_an_act_on_a_running_task_that_changed_is_overtaken(place: Place, meanwhile: Any, reaps: int) -> None:
    """Neither reaped nor stranded: status, attempt and lease are read again in the transaction that would change it."""
    orphan(place, reapCount=reaps)
    mission = place.reaper()
    plan = mission.decide(mission.observe())
    meanwhile(place)
    before = place.world.documents("tasks")
    (result,) = mission.act(plan)
    assert (result.kind, result.outcome) == (ReapKind.STRAND if reaps else ReapKind.REAP, Outcome.OVERTAKEN)
    assert place.world.documents("tasks") == before
    assert place.log("reap") == place.log("strand") == []


def test_what_somebody_else_sent_meanwhile_is_not_sent_again(place: Place) -> None:
    place.create("j", "unsent")
    first = place.dispatch()
    plan = first.decide(first.observe())
    place.world.io = lambda site, do: do() if site != "sqs.send_message" else _broken()
    first.act(plan)
    place.world.io = lambda _, do: do()
    place.world.runtime.sleep(120)
    one, two = place.reaper(), place.reaper()
    plans = [mission.decide(mission.observe()) for mission in (one, two)]
    outcomes = [mission.act(plan)[0].outcome for mission, plan in zip((one, two), plans, strict=True)]
    assert outcomes == [Outcome.DONE, Outcome.OVERTAKEN]
    assert sum(messages(place).values()) == 1


def _broken() -> Any:
    raise ConnectionError("no route")


def test_leaving_a_task_that_changed_meanwhile_is_overtaken_and_moves_nothing(place: Place) -> None:
    place.world.submit("j", "late", {"a": {}})
    place.world.runtime.sleep(1900)
    mission = place.reaper()
    plan = mission.decide(mission.observe())
    place.world.patch("j.a.late", checkAt=place.world.now)
    (result,) = mission.act(plan)
    assert (result.kind, result.outcome) == (ReapKind.LEAVE, Outcome.OVERTAKEN)
    assert place.world.task("j.a.late").check_at == place.world.now
