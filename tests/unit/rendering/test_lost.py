"""Deliveries, and renders without a stored uid: lease, lost-or-late, three times at most (§3.3 rule 3)."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.claims import OwnerState
from mos.domain.findings import FindingCode
from mos.domain.model import Render, RenderAttempt, Send, TaskStatus
from mos.domain.rendering import Need, RenderActKind, RenderEvidence, RenderLimits, decide_render, decide_renders
from mos.domain.staleness import QueueState
from tests.builders import NOW, ago, ahead, lease, policy, task

K = RenderActKind
STEPS = {"render": "mos-render", "deliver": "mos-deliver"}
LOST = {queue: QueueState(queue, ((0, 0), (0, 0)), None, None) for queue in STEPS.values()}
DEEP = {queue: QueueState(queue, ((9, 0), (9, 0)), None, None) for queue in STEPS.values()}
SENT = {"queued_at": ago(minutes=11), "send": Send(state="sent", at=ago(minutes=11))}


def finish(step: str, status: str, **fields: Any) -> Any:
    return task(status, **({"id": f"j.{step}", "shot_id": None, "step_type": step} | fields))


def decide(found: Any, **known: Any) -> Any:
    evidence = RenderEvidence(**({"queues": LOST} | known))
    return decide_render(found, evidence, now=NOW, limits=RenderLimits(), policy=policy())


@pytest.mark.parametrize("step", STEPS)
class TestBothSteps:
    def test_a_live_lease_is_left_until_its_grace_ends(self, step: str) -> None:
        act = decide(finish(step, "running", lease=lease(ends=ago(seconds=119))))
        assert (act.kind, act.until) == (K.LEAVE, ahead(seconds=1))

    def test_an_ended_lease_whose_message_is_lost_is_reaped_and_counted(self, step: str) -> None:
        act = decide(finish(step, "running", lease=lease(ends=ago(seconds=120))))
        assert (act.kind, act.counted) == (K.REAP, True)

    def test_an_announced_loss_is_reaped_at_once_and_not_counted(self, step: str) -> None:
        stopped = {"boot-a": OwnerState.STOPPED}
        act = decide(finish(step, "running", reap_count=3), owners=stopped)
        assert (act.kind, act.counted) == (K.REAP, False)

    def test_a_late_message_is_left_whatever_the_age(self, step: str) -> None:
        for found in (finish(step, "running", lease=lease(ends=ago(days=2))), finish(step, "queued", **SENT)):
            act = decide(found, queues=DEEP)
            assert (act.kind, act.late, act.until) == (K.LEAVE, True, ahead(minutes=5))

    def test_a_queue_that_cannot_be_read_is_late(self, step: str) -> None:
        assert decide(finish(step, "queued", **SENT), queues={STEPS[step]: None}).kind is K.LEAVE

    def test_the_queue_is_asked_only_when_something_is_suspicious(self, step: str) -> None:
        assert decide(finish(step, "queued", **SENT), queues={}).needs is Need.QUEUE
        assert decide(finish(step, "running", lease=lease(ends=ago(minutes=9))), queues={}).needs is Need.QUEUE
        assert decide(finish(step, "queued"), queues={}).kind is K.LEAVE
        assert decide(finish(step, "running"), queues={}).kind is K.LEAVE

    def test_the_fourth_reap_fails_it_as_stranded(self, step: str) -> None:
        act = decide(finish(step, "running", lease=lease(ends=ago(minutes=9)), reap_count=3))
        assert (act.kind, act.ends_as) == (K.STRAND, TaskStatus.FAILED)

    def test_the_ninth_execution_makes_it_dead(self, step: str) -> None:
        act = decide(finish(step, "running", lease=lease(ends=ago(minutes=9)), executions=8))
        assert (act.kind, act.ends_as) == (K.STRAND, TaskStatus.DEAD)

    def test_unsent_for_a_minute_is_sent(self, step: str) -> None:
        unsent = finish(step, "queued", queued_at=ago(seconds=60), send=Send(state="unsent"))
        assert decide(unsent, queues={}).kind is K.SEND
        act = decide(finish(step, "queued", queued_at=ago(seconds=59), send=Send(state="unsent")), queues={})
        assert (act.kind, act.until) == (K.LEAVE, ahead(seconds=1))

    def test_a_lost_message_is_sent_again_three_times_then_stranded(self, step: str) -> None:
        kinds = [decide(finish(step, "queued", resends=spent, **SENT)).kind for spent in range(4)]
        assert kinds == [K.RESEND, K.RESEND, K.RESEND, K.STRAND]

    def test_within_its_pickup_time_it_is_left(self, step: str) -> None:
        waiting = finish(step, "queued", queued_at=ago(minutes=9), send=Send(state="sent", at=ago(minutes=9)))
        assert (decide(waiting).kind, decide(waiting).until) == (K.LEAVE, ahead(minutes=1))

    @pytest.mark.parametrize("status", ["pending", "waiting", "completed", "failed", "dead", "cancelled"])
    def test_every_other_status_is_not_touched(self, step: str, status: str) -> None:
        assert decide(finish(step, status)) is None


@pytest.mark.parametrize("step", ["upscale", "image_edit", "voice_training", "render_poll"])
def test_steps_of_the_reaper_are_not_touched(step: str) -> None:
    assert decide(task("running", step_type=step, lease=lease(ends=ago(days=1)))) is None


def test_a_render_that_lost_its_submission_is_one_without_a_uid() -> None:
    before = Render(attempts=[RenderAttempt(uid="u0", submitted_at=ago(hours=1), outcome="missing")])
    act = decide(finish("render", "running", render=before, lease=lease(ends=ago(minutes=3))))
    assert act.kind is K.REAP


def test_work_beyond_the_limit_stays_due_and_the_oldest_goes_first() -> None:
    lost = [
        finish("deliver", "queued", id=f"j{n}.deliver", queued_at=ago(minutes=20 + n), send=Send(at=ago(minutes=20)))
        for n in range(5)
    ]
    plan = decide_renders(lost, RenderEvidence(queues=LOST), now=NOW, limits=RenderLimits(max_acts=2), policy=policy())
    assert [act.task.id for act in plan.acts] == ["j4.deliver", "j3.deliver"]
    assert plan.deferred == 3


def test_late_work_is_one_finding_a_queue() -> None:
    late = [finish("deliver", "queued", id=f"j{n}.deliver", **SENT) for n in range(3)]
    plan = decide_renders(late, RenderEvidence(queues=DEEP), now=NOW, limits=RenderLimits(), policy=policy())
    (found,) = plan.sightings
    assert (found.code, found.subject) == (FindingCode.BACKLOG, "queues/mos-deliver")
    assert found.evidence == {"tasks": 3, "depth": 9, "oldestSeconds": 660}


def test_a_plan_that_lacks_evidence_says_so() -> None:
    plan = decide_renders(
        [finish("deliver", "queued", **SENT)], RenderEvidence(), now=NOW, limits=RenderLimits(), policy=policy()
    )
    assert [act.needs for act in plan.lacking] == [Need.QUEUE]
