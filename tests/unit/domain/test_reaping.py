"""The reaper's decision: which orphans come back, and which are left until when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.domain.claims import OwnerState
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Send, TaskStatus
from mos.domain.pipeline import Pipeline
from mos.domain.policy import Policy
from mos.domain.reaping import ReapAct, ReaperLimits, ReaperObservations, ReaperPlan, ReapKind, decide_reaping
from mos.domain.staleness import QueueState
from tests.builders import NOW, ago, ahead, error, lease, policy, task

EMPTY = {"mos-upscale": QueueState("mos-upscale", ((0, 0), (0, 0)), None, ago(minutes=1))}
DEEP = {"mos-upscale": QueueState("mos-upscale", ((90, 0), (90, 0)), ago(minutes=50), ago(minutes=1))}
LIMITS = ReaperLimits()
DEAD = lease(ends=ago(minutes=2))


def plan(
    *tasks: Any, queues: Any = EMPTY, limits: ReaperLimits = LIMITS, now: datetime = NOW, **seen: Any
) -> ReaperPlan:
    running = tuple(found for found in tasks if found.status == "running")
    queued = tuple(found for found in tasks if found.status != "running")
    return decide_reaping(
        ReaperObservations(running=running, queued=queued, queues=queues, **seen),
        now=now,
        limits=limits,
        policy=policy(),
    )


def act(found: Any, **seen: Any) -> ReapAct:
    (only,) = plan(found, **seen).acts
    return only


def test_an_orphan_whose_message_is_lost_is_reaped_and_counted() -> None:
    reap = act(task("running", lease=DEAD))
    assert (reap.kind, reap.counted) == (ReapKind.REAP, True)
    assert "its lease ended" in reap.reason


def test_a_lease_is_dead_only_when_the_grace_is_over_too() -> None:
    leave = act(task("running", lease=lease(ends=ago(seconds=119))))
    assert (leave.kind, leave.until) == (ReapKind.LEAVE, ahead(seconds=1))
    assert act(task("running", lease=lease(ends=ago(seconds=120)))).kind is ReapKind.REAP


@pytest.mark.parametrize("age", [1, 100, 10_000])
def test_a_live_lease_is_never_reaped_however_old_the_work(age: int) -> None:
    old = task("running", started_at=ago(hours=age), queued_at=ago(hours=age), lease=lease(ends=ahead(seconds=1)))
    assert act(old).kind is ReapKind.LEAVE


def test_work_whose_redelivered_message_is_only_late_is_left_for_half_the_pickup_time() -> None:
    leave = act(task("running", lease=DEAD), queues=DEEP)
    assert (leave.kind, leave.until) == (ReapKind.LEAVE, ahead(minutes=15))


def test_running_work_is_measured_from_its_leases_end() -> None:
    overtaken = {"mos-upscale": QueueState("mos-upscale", ((9, 0), (9, 0)), ago(minutes=29), None)}
    assert act(task("running", lease=lease(ends=ago(minutes=60))), queues=overtaken).kind is ReapKind.REAP
    assert act(task("running", lease=lease(ends=ago(minutes=59))), queues=overtaken).kind is ReapKind.LEAVE


def test_an_announced_loss_is_reaped_at_once_and_spends_no_reap() -> None:
    stopped = {"boot-a": OwnerState.STOPPED}
    reap = act(task("running", lease=lease(ends=ahead(minutes=4)), reap_count=3), owners=stopped)
    assert (reap.kind, reap.counted) == (ReapKind.REAP, False)
    assert (
        act(task("running", lease=lease(ends=ahead(minutes=4))), owners={"boot-a": OwnerState.UNKNOWN}).kind
        is ReapKind.LEAVE
    )
    assert (
        act(task("running", lease=lease(ends=ahead(minutes=4))), owners={"other": OwnerState.STOPPED}).kind
        is ReapKind.LEAVE
    )


def test_the_fourth_counted_reap_strands_the_task_instead() -> None:
    strand = act(task("running", lease=DEAD, reap_count=3))
    assert (strand.kind, strand.ends_as) == (ReapKind.STRAND, TaskStatus.FAILED)
    assert act(task("running", lease=DEAD, reap_count=2)).kind is ReapKind.REAP


def test_past_the_last_execution_a_task_is_dead() -> None:
    strand = act(task("running", lease=DEAD, executions=8), owners={"boot-a": OwnerState.STOPPED})
    assert (strand.kind, strand.ends_as) == (ReapKind.STRAND, TaskStatus.DEAD)
    assert act(task("running", lease=DEAD, executions=7)).kind is ReapKind.REAP


def test_an_older_writers_running_task_is_judged_by_its_steps_time_to_live() -> None:
    old = {"lease": None, "queued_at": ago(hours=2)}
    assert act(task("running", started_at=ago(minutes=17), **old)).kind is ReapKind.REAP
    assert act(task("running", started_at=ago(minutes=16), **old)).until == ahead(minutes=1)


def test_an_unsent_message_is_sent_after_its_senders_minute() -> None:
    unsent = Send(state="unsent", at=NOW)
    assert act(task(queued_at=ago(seconds=60), send=unsent), queues={}).kind is ReapKind.SEND
    leave = act(task(queued_at=ago(seconds=59), send=unsent), queues={})
    assert (leave.kind, leave.until) == (ReapKind.LEAVE, ahead(seconds=1))


def waiting(minutes: float, **fields: Any) -> Any:
    return task(queued_at=ago(minutes=minutes), send=Send(state="sent", at=ago(minutes=minutes)), **fields)


def test_a_message_that_is_lost_past_its_pickup_time_is_sent_again() -> None:
    assert act(waiting(30)).kind is ReapKind.RESEND
    leave = act(waiting(29))
    assert (leave.kind, leave.until) == (ReapKind.LEAVE, ahead(minutes=1))


def test_pickup_time_is_counted_from_the_end_of_a_back_off_and_from_a_late_sending() -> None:
    assert act(waiting(40, not_before=ago(minutes=20))).until == ahead(minutes=10)
    held_back = task(queued_at=ago(minutes=40), send=Send(state="sent", at=ago(minutes=5)))
    assert act(held_back).until == ahead(minutes=25)


@pytest.mark.parametrize("minutes", [31, 600, 60_000])
def test_work_in_a_deep_queue_is_left_however_long_it_waits(minutes: int) -> None:
    deep = {"mos-upscale": QueueState("mos-upscale", ((90, 0), (90, 0)), ago(minutes=minutes), ago(minutes=1))}
    found = plan(waiting(minutes), queues=deep)
    assert (found.acts[0].kind, found.acts[0].until) == (ReapKind.LEAVE, ahead(minutes=15))
    assert [sighting.code for sighting in found.sightings] == [FindingCode.BACKLOG]


def test_three_sendings_without_a_claim_strand_the_task() -> None:
    assert act(waiting(31, resends=2)).kind is ReapKind.RESEND
    assert act(waiting(31, resends=3)).kind is ReapKind.STRAND


def test_an_older_writers_queued_task_is_never_skipped() -> None:
    assert act(task(queued_at=None, send=Send(), updated_at=ago(minutes=31))).kind is ReapKind.RESEND
    assert act(task(queued_at=None, send=Send())).kind is ReapKind.RESEND


@pytest.mark.parametrize("step", ["render", "deliver"])
@pytest.mark.parametrize("status", ["queued", "running"])
def test_renders_and_deliveries_are_never_touched(step: str, status: str) -> None:
    assert plan(task(status, step_type=step, lease=None, queued_at=ago(days=9), started_at=ago(days=9))).acts == ()


@pytest.mark.parametrize("status", [s for s in TaskStatus if s not in {"queued", "running"}])
def test_neither_is_what_waits_or_has_ended(status: str) -> None:
    assert plan(task(status, queued_at=ago(days=9))).acts == ()


@pytest.mark.parametrize("step", ["colour_grade", "render_poll"])
def test_a_task_that_no_step_will_ever_run_is_stranded_after_three_hours(step: str) -> None:
    """Not at once: a deployment may be under way whose pipeline knows the step."""
    for found in (waiting(181, step_type=step), task("running", step_type=step, lease=lease(ends=ago(hours=3)))):
        assert act(found, queues={}).kind is ReapKind.STRAND
    unsent = task(step_type=step, queued_at=ago(minutes=100), send=Send(state="unsent", at=ago(minutes=100)))
    assert (act(unsent).kind, act(unsent).until) == (ReapKind.LEAVE, ahead(minutes=80))
    stopped = task("running", step_type=step, lease=lease(ends=ahead(minutes=1)))
    assert act(stopped, owners={"boot-a": OwnerState.STOPPED}).until == ahead(hours=3)


def test_nothing_is_left_for_longer_than_a_job_may_stand_still_whatever_a_stamp_says() -> None:
    assert act(task("running", lease=lease(ends=ahead(days=9)))).until == ahead(hours=3)
    assert act(task(queued_at=ahead(days=9))).until == ahead(hours=3)
    assert act(task(queued_at=ahead(days=9), send=Send(state="unsent"))).until == ahead(hours=3)


def test_an_empty_selector_means_no_act() -> None:
    nothing = Policy(pipeline=Pipeline(steps={}, kinds={}))
    seen = ReaperObservations(running=(task("running", lease=DEAD),), queued=(waiting(999),), queues=EMPTY)
    assert decide_reaping(seen, now=NOW, limits=LIMITS, policy=nothing).acts == ()


def test_acts_are_bounded_oldest_first_and_the_rest_stays_due() -> None:
    found = plan(*(waiting(40 + n, id=f"t{n}") for n in range(9)), limits=ReaperLimits(max_acts=3))
    assert [one.task.id for one in found.acts] == ["t8", "t7", "t6"]
    assert found.deferred == 6


def test_leaving_is_not_an_act_that_is_bounded() -> None:
    found = plan(*(waiting(1, id=f"t{n}") for n in range(9)), limits=ReaperLimits(max_acts=3))
    assert (len(found.acts), found.deferred) == (9, 0)


def test_backlog_is_one_finding_per_queue_with_count_and_oldest_age() -> None:
    (sighting,) = plan(waiting(40, id="a"), waiting(45, id="b"), queues=DEEP).sightings
    assert (sighting.id, sighting.evidence["tasks"]) == ("BACKLOG:queues~mos-upscale", 2)
    assert (sighting.evidence["depth"], sighting.evidence["oldestSeconds"]) == (90, 45 * 60)


@pytest.mark.parametrize(
    ("last_claim", "workers_seen", "reported"),
    [(None, False, True), (ago(minutes=31), False, True), (ago(minutes=30), False, False), (None, True, False)],
)
def test_no_workers_is_said_when_nobody_claimed_for_a_pickup_time_and_none_was_seen(
    last_claim: datetime | None, workers_seen: bool, reported: bool
) -> None:
    queues = {"mos-upscale": QueueState("mos-upscale", ((9, 0), (9, 0)), None, last_claim)}
    codes = [one.code for one in plan(waiting(40), queues=queues, workers_seen=workers_seen).sightings]
    assert codes == [FindingCode.BACKLOG, *([FindingCode.NO_WORKERS] if reported else [])]


def test_dead_letters_and_unreadable_records_are_reported_in_the_same_tick() -> None:
    unreadable = Sighting(FindingCode.UNREADABLE_RECORD, "tasks/x", {"problem": "status: bad"})
    found = plan(dead_letters={"a-dlq": 2, "b-dlq": 0}, unreadable=(unreadable,))
    assert [(one.code, one.subject) for one in found.sightings] == [
        (FindingCode.DEAD_LETTERS, "queues/a-dlq"),
        (FindingCode.UNREADABLE_RECORD, "tasks/x"),
    ]


def test_a_healthy_fleet_yields_an_empty_plan() -> None:
    assert plan() == ReaperPlan(acts=(), sightings=())


LEASES = st.none() | st.integers(-20_000, 20_000).map(lambda s: lease(ends=NOW + timedelta(seconds=s)))
TASKS = st.builds(
    lambda status, held, queued, started, resends, reaps, step: task(
        status,
        lease=held if status == "running" else None,
        queued_at=None if queued is None else NOW - timedelta(seconds=queued),
        started_at=None if started is None else NOW - timedelta(seconds=started),
        resends=resends,
        reap_count=reaps,
        step_type=step,
        error=error(),
    ),
    st.sampled_from(["queued", "running"]),
    LEASES,
    st.none() | st.integers(-9_000, 90_000),
    st.none() | st.integers(-9_000, 90_000),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from(["upscale", "voice_training", "render", "nothing"]),
)


@given(st.lists(TASKS, max_size=12), st.sampled_from([EMPTY, DEEP, {}]), st.integers(0, 5))
def test_a_plan_is_bounded_fenced_and_the_same_twice(tasks: Any, queues: Any, most: int) -> None:
    first = plan(*tasks, queues=queues, limits=ReaperLimits(max_acts=most))
    assert first == plan(*tasks, queues=queues, limits=ReaperLimits(max_acts=most))
    work = [one for one in first.acts if one.kind is not ReapKind.LEAVE]
    assert len(work) <= most
    assert all(one.until is not None and one.until > NOW for one in first.acts if one.kind is ReapKind.LEAVE)
    for one in work:
        assert one.task.step_type != "render"
        assert one.task.lease is None or one.task.lease.expires_at + timedelta(minutes=2) <= NOW
        assert one.kind is not ReapKind.REAP or one.task.reap_count < 3


@given(TASKS, st.integers(0, 10**6))
def test_a_clock_that_goes_back_never_makes_an_act_of_what_was_left(found: Any, seconds: int) -> None:
    before = plan(found, now=NOW)
    if all(one.kind is ReapKind.LEAVE for one in before.acts):
        earlier = plan(found, now=NOW - timedelta(seconds=seconds))
        assert all(one.kind is ReapKind.LEAVE for one in earlier.acts)
