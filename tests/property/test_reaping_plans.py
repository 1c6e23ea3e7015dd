"""The reaper's plan for any observations: bounded, fenced, independent of order and company, harmless under load."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mos.domain.claims import OwnerState
from mos.domain.model import Send
from mos.domain.policy import MAX_EXECUTIONS, MAX_REAPS, MAX_RESENDS
from mos.domain.reaping import ReapAct, ReaperLimits, ReaperObservations, ReaperPlan, ReapKind, decide_reaping
from mos.domain.staleness import QueueState
from tests.builders import NOW, ago, ahead, lease, policy, task

STEPS = [step.name for step in policy().pipeline.steps.values() if step.rerunnable]
QUEUES = [policy().pipeline.steps[name].queue for name in STEPS]
SECONDS = st.integers(-20_000, 200_000)
NO_LIMIT = ReaperLimits(max_acts=10_000)
quick = settings(max_examples=40, deadline=None)


def state(queue: str, depth: int, overtaken: int | None) -> QueueState:
    newest = None if overtaken is None else NOW - timedelta(seconds=overtaken)
    return QueueState(queue, ((depth, 0), (depth, 0)), newest, newest)


QUEUE_STATES = st.fixed_dictionaries(
    {}, optional={queue: st.builds(state, st.just(queue), st.integers(0, 3), st.none() | SECONDS) for queue in QUEUES}
)


@st.composite
def tasks(draw: Any) -> Any:
    """A queued or running task in any condition."""
    queued, ends = ago(seconds=draw(SECONDS)), ago(seconds=draw(SECONDS))
    status = draw(st.sampled_from(["queued", "running"]))
    sent = Send(state=draw(st.sampled_from(["sent", "unsent"])), at=ago(seconds=draw(SECONDS)))
    return task(
        status,
        step_type=draw(st.sampled_from([*STEPS, "render", "deliver", "no_such_step"])),
        queued_at=queued,
        send=sent,
        lease=lease(ends=ends, owner=draw(st.sampled_from(["boot-a", "boot-b"]))) if status == "running" else None,
        started_at=queued,
        reap_count=draw(st.integers(0, 4)),
        resends=draw(st.integers(0, 4)),
        executions=draw(st.integers(0, 9)),
    )


@st.composite
def observations(draw: Any) -> ReaperObservations:
    """A few tasks with ids of their own, and what is known of queues and owners."""
    found = [one.replace(id=f"t{number:02}") for number, one in enumerate(draw(st.lists(tasks(), max_size=7)))]
    return ReaperObservations(
        running=tuple(one for one in found if one.status == "running"),
        queued=tuple(one for one in found if one.status == "queued"),
        queues=draw(QUEUE_STATES),
        owners=draw(st.sampled_from([{}, {"boot-a": OwnerState.STOPPED}])),
        workers_seen=draw(st.booleans()),
    )


def decide(seen: ReaperObservations, limits: ReaperLimits = NO_LIMIT) -> ReaperPlan:
    return decide_reaping(seen, now=NOW, limits=limits, policy=policy())


def work(plan: ReaperPlan) -> list[ReapAct]:
    return [act for act in plan.acts if act.kind is not ReapKind.LEAVE]


@quick
@given(observations(), st.integers(0, 6))
def test_never_more_acts_than_the_limit_and_none_is_forgotten(seen: ReaperObservations, most: int) -> None:
    plan = decide(seen, ReaperLimits(max_acts=most))
    assert len(work(plan)) == min(most, len(work(decide(seen))))
    assert len(work(plan)) + plan.deferred == len(work(decide(seen)))
    assert work(plan) == work(decide(seen))[:most]


@quick
@given(observations())
def test_every_act_is_fenced_by_a_task_that_was_observed(seen: ReaperObservations) -> None:
    observed = [*seen.running, *seen.queued]
    plan = decide(seen)
    assert all(act.task in observed for act in plan.acts)
    assert len({act.task.id for act in plan.acts}) == len(plan.acts)


@quick
@given(observations())
def test_every_task_of_ours_gets_an_answer_and_every_leave_ends_in_the_future(seen: ReaperObservations) -> None:
    plan = decide(seen)
    ours = {one.id for one in (*seen.running, *seen.queued) if one.step_type not in {"render", "deliver"}}
    assert {act.task.id for act in plan.acts} == ours
    leaves = [act for act in plan.acts if act.kind is ReapKind.LEAVE]
    assert all(act.until is not None and NOW < act.until <= ahead(hours=3) for act in leaves)


@quick
@given(observations(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_what_was_read(seen: ReaperObservations, dice: Any) -> None:
    running, queued = list(seen.running), list(seen.queued)
    dice.shuffle(running)
    dice.shuffle(queued)
    assert decide(replace(seen, running=tuple(running), queued=tuple(queued))) == decide(seen) == decide(seen)


@quick
@given(observations())
def test_what_becomes_of_a_task_does_not_depend_on_its_company(seen: ReaperObservations) -> None:
    alone = [replace(seen, running=(one,), queued=()) for one in seen.running]
    alone += [replace(seen, running=(), queued=(one,)) for one in seen.queued]
    single = [act for one in alone for act in decide(one).acts]
    assert sorted(single, key=lambda act: act.task.id) == sorted(decide(seen).acts, key=lambda act: act.task.id)


@quick
@given(observations(), st.integers(1, 10_000), st.none() | SECONDS)
def test_an_overloaded_fleet_is_left_alone_whatever_its_age(
    seen: ReaperObservations, depth: int, claimed: int | None
) -> None:
    """Every queue is deep and nothing that waits was overtaken: only what was never sent is sent (laws 7 and 10)."""
    sent = tuple(one.replace(send=Send(state="sent", at=one.queued_at)) for one in seen.queued)
    known = [one for one in (*seen.running, *sent) if one.step_type in STEPS]
    since = min([lease_or_send(one) for one in known], default=NOW)
    newest = None if claimed is None else min(since + timedelta(seconds=1_000), NOW)
    deep = {queue: QueueState(queue, ((depth, 0), (depth, 0)), newest, newest) for queue in QUEUES}
    overloaded = replace(
        seen,
        running=tuple(one for one in known if one.status == "running"),
        queued=tuple(one for one in known if one.status == "queued"),
        queues=deep,
    )
    assert work(decide(overloaded)) == []


def lease_or_send(one: Any) -> Any:
    return one.lease.expires_at if one.lease is not None else one.queued_at


@quick
@given(observations())
def test_a_healthy_fleet_needs_no_work(seen: ReaperObservations) -> None:
    """Live leases, and messages that were sent within their pickup time."""
    fresh = {"queued_at": ago(seconds=30), "send": Send(state="sent", at=ago(seconds=30)), "not_before": None}
    healthy = replace(
        seen,
        running=tuple(
            one.replace(lease=lease(ends=ahead(seconds=200), owner="alive"))
            for one in seen.running
            if one.step_type != "no_such_step"
        ),
        queued=tuple(one.replace(**fresh) for one in seen.queued),
    )
    assert work(decide(healthy)) == []
    assert decide(healthy).sightings == ()


@quick
@given(observations())
def test_acts_keep_to_their_evidence_and_their_budgets(seen: ReaperObservations) -> None:
    for act in work(decide(seen)):
        found, known = act.task, act.task.step_type in STEPS
        ended = found.lease is None or found.lease.expires_at + timedelta(minutes=2) <= NOW
        stopped = found.lease is not None and found.lease.owner in seen.owners
        match act.kind:
            case ReapKind.SEND:
                assert found.unsent
            case ReapKind.RESEND:
                assert not found.unsent
                assert found.resends < MAX_RESENDS
            case ReapKind.REAP:
                assert found.status == "running"
                assert ended or stopped
                assert found.executions < MAX_EXECUTIONS
                assert stopped or found.reap_count < MAX_REAPS
                assert act.counted is not stopped
            case ReapKind.STRAND if known:
                spent = found.reap_count >= MAX_REAPS or found.executions >= MAX_EXECUTIONS
                assert spent or found.resends >= MAX_RESENDS


@quick
@given(observations(), st.integers(0, 10**6))
def test_a_clock_that_goes_back_makes_no_new_work(seen: ReaperObservations, seconds: int) -> None:
    """Read at an earlier time, the same documents never show more to do."""
    earlier = decide_reaping(seen, now=NOW - timedelta(seconds=seconds), limits=NO_LIMIT, policy=policy())
    assert {act.task.id for act in work(earlier)} <= {act.task.id for act in work(decide(seen))}
