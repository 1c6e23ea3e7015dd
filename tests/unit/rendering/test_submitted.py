"""Stale active renders (§3.3 rule 2), row by row."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.claims import OwnerState
from mos.domain.findings import FindingCode
from mos.domain.model import RenderAttempt, TaskStatus
from mos.domain.rendering import (
    Census,
    Known,
    Missing,
    Need,
    Output,
    OutputSeen,
    RenderActKind,
    RenderEvidence,
    StoreSeen,
    UnknownAnswer,
)
from mos.domain.rendering.observing import SEEN
from mos.domain.staleness import QueueState
from tests.builders import NOW, ago, ahead, lease

K = RenderActKind
NOTHING = RenderEvidence()
UID = "u1"


def test_a_render_that_is_polled_is_left(make: Any) -> None:
    young = make.task(make.render(submitted_at=ago(minutes=5), missing_since=None))
    act = make.decide(young, NOTHING)
    assert (act.kind, act.until) == (K.LEAVE, ahead(minutes=5))


def test_three_minutes_without_a_poll_re_send_it(make: Any) -> None:
    silent = make.task(make.render(submitted_at=ago(minutes=5), missing_since=None, last_polled_at=ago(minutes=3)))
    assert make.decide(silent, NOTHING).needs is Need.QUEUE
    act = make.decide(silent, make.evidence())
    assert act.kind is K.REPOLL
    assert act.render.unanswered_since == NOW


def test_the_first_poll_may_have_been_lost_too(make: Any) -> None:
    silent = make.task(make.render(submitted_at=ago(minutes=3), missing_since=None, last_polled_at=None))
    assert make.decide(silent, make.evidence()).kind is K.REPOLL


def test_polls_that_wait_in_their_queue_are_late_and_not_superseded(make: Any) -> None:
    """A fresh generation would drop the one that waits, again and again."""
    silent = make.task(make.render(submitted_at=ago(minutes=9), missing_since=None, last_polled_at=ago(minutes=6)))
    deep = QueueState("mos-render-poll", ((40, 2), (40, 2)), ago(minutes=7), ago(minutes=1))
    act = make.decide(silent, make.evidence(queues={"mos-render-poll": deep}))
    assert (act.kind, act.late) == (K.LEAVE, True)
    overtaken = QueueState("mos-render-poll", ((40, 2), (40, 2)), ago(minutes=1), ago(minutes=1))
    assert make.decide(silent, make.evidence(queues={"mos-render-poll": overtaken})).kind is K.REPOLL
    assert make.decide(silent, make.evidence(queues={"mos-render-poll": None})).kind is K.REPOLL


@pytest.mark.parametrize(
    "special",
    [
        {"submitted_at": ago(minutes=19)},
        {"missing_since": ago(minutes=5)},
        {"missing_since": None, "unanswered_since": ago(minutes=5)},
    ],
)
def test_before_the_window_and_two_polls_nobody_asks(make: Any, special: dict[str, Any]) -> None:
    assert make.decide(make.task(make.render(**special)), NOTHING).kind is K.LEAVE


@pytest.mark.parametrize(
    "special",
    [
        {},
        {"missing_since": None, "unanswered_since": ago(minutes=6)},
        {"missing_since": None, "submitted_at": ago(minutes=61)},
        {"missing_since": None, "submitted_at": ago(hours=5), "last_change_at": ago(minutes=60)},
        {"missing_since": None, "submitted_at": None},
    ],
)
def test_past_the_window_the_farm_is_asked(make: Any, special: dict[str, Any]) -> None:
    act = make.decide(make.task(make.render(**special)), NOTHING)
    assert (act.kind, act.needs) == (K.LOOK, Need.ANSWER)


@pytest.mark.parametrize("state", ["queued", "picked", "started", "render:dorender", "finished", "error", "new:state"])
def test_a_known_state_is_polled_and_never_replaced_however_old(make: Any, state: str) -> None:
    old = make.render(submitted_at=ago(days=9), last_polled_at=ago(minutes=4))
    act = make.decide(make.task(old), make.evidence(**make.knows(state)))
    assert act.kind is K.REPOLL
    assert (act.render.missing_since, act.render.last_answer_at) == (None, NOW)


@pytest.mark.parametrize("state", ["picked", "started", "render:dorender", "new:state"])
def test_an_hour_without_a_change_is_a_finding_and_no_replacement(make: Any, state: str) -> None:
    quiet = make.render(submitted_at=ago(hours=3), missing_since=None, last_change_at=ago(minutes=60))
    act = make.decide(make.task(quiet), make.evidence(**make.knows(state, updated_at=ago(minutes=60))))
    assert act.kind is K.LEAVE
    assert act.sighting.code is FindingCode.RENDER_STUCK
    assert act.sighting.evidence == {"uid": UID, "executor": "i-1", "state": state, "unchangedSeconds": 3600}


@pytest.mark.parametrize(
    "record",
    [{"state": "queued"}, {"state": "finished"}, {"state": "error"}, {"updated_at": ago(minutes=59)}],
)
def test_what_waits_has_ended_or_moved_is_not_stuck(make: Any, record: dict[str, Any]) -> None:
    quiet = make.render(submitted_at=ago(hours=3), missing_since=None, last_change_at=ago(hours=2))
    fields = {"state": "started", "updated_at": ago(hours=2)} | record
    assert make.decide(make.task(quiet), make.evidence(**make.knows(**fields))).sighting is None


def test_a_change_that_only_we_saw_counts_as_one(make: Any) -> None:
    """The farm's clock may be far behind."""
    quiet = make.render(submitted_at=ago(hours=3), last_change_at=ago(hours=2), **{SEEN: "started|1|"})
    act = make.decide(make.task(quiet), make.evidence(**make.knows("started", updated_at=ago(hours=2))))
    assert act.sighting is None
    assert act.render.last_change_at == NOW


def test_a_time_far_in_the_future_does_not_hide_a_stuck_render(make: Any) -> None:
    quiet = make.render(submitted_at=ago(hours=3), last_change_at=ago(hours=2))
    act = make.decide(make.task(quiet), make.evidence(**make.knows("started", updated_at=ahead(days=400))))
    assert act.sighting.code is FindingCode.RENDER_STUCK


@pytest.mark.parametrize("what", ["restarted", "gone"])
def test_a_render_whose_host_was_lost_since_its_last_change_is_as_missing(make: Any, what: str) -> None:
    lost = make.lost_host(what, minutes=5)
    stale = make.render(missing_since=None, last_change_at=ago(minutes=25))
    act = make.decide(make.task(stale), make.evidence(**make.knows(updated_at=ago(minutes=25)), **lost))
    assert (act.kind, act.outcome) == (K.SUBMIT, f"host {what}")


def test_a_stuck_render_whose_host_was_restarted_comes_back(make: Any) -> None:
    """Otherwise it would stay stuck for ever, and its host be restarted every hour."""
    quiet = make.render(submitted_at=ago(hours=3), missing_since=None, last_change_at=ago(hours=2))
    evidence = make.evidence(**make.knows(updated_at=ago(hours=2)), **make.lost_host(minutes=30))
    assert make.decide(make.task(quiet), evidence).kind is K.SUBMIT


@pytest.mark.parametrize(
    ("record", "since"),
    [
        ({"updated_at": ago(minutes=2)}, 5),  # it moved after the restart
        ({"updated_at": ago(minutes=9)}, 5),  # it may have: the farm's clock may be five minutes behind
        ({"updated_at": None}, 5),
        ({"state": "queued", "updated_at": ago(minutes=25)}, 5),
        ({"executor": "i-2", "updated_at": ago(minutes=25)}, 5),
    ],
)
def test_a_lost_host_is_no_evidence_against_what_moved_since(make: Any, record: dict[str, Any], since: int) -> None:
    fields = make.knows(**record)
    act = make.decide(make.task(), make.evidence(**fields, **make.lost_host(minutes=since)))
    assert act.kind is K.LEAVE


def test_a_host_lost_just_now_is_looked_at_again(make: Any) -> None:
    seen = make.record(updated_at=ago(minutes=1))
    render = make.render(last_change_at=ago(minutes=2), **{SEEN: seen.fingerprint})
    evidence = make.evidence(answers={UID: Known(seen)}, **make.lost_host(seconds=30))
    act = make.decide(make.task(render), evidence)
    assert (act.kind, act.until) == (K.SUSPECT, ahead(seconds=30))


def test_missing_asks_for_the_output_then_for_the_farm(make: Any) -> None:
    answers = {UID: Missing()}
    assert make.decide(make.task(), RenderEvidence(answers=answers)).needs is Need.OUTPUT
    outputs = {UID: OutputSeen(Output.ABSENT)}
    assert make.decide(make.task(), RenderEvidence(answers=answers, outputs=outputs)).needs is Need.STORE


def test_a_finished_output_is_adopted_first(make: Any) -> None:
    """Whatever the farm has forgotten, whatever the budget says."""
    spent = [RenderAttempt(uid=f"u{n}", submitted_at=ago(hours=1)) for n in range(3)]
    evidence = make.evidence(outputs={UID: OutputSeen(Output.SOUND, "renders/u1.mp4")}, store=None)
    act = make.decide(make.task(make.render(attempts=spent)), evidence)
    assert (act.kind, act.output_key) == (K.ADOPT, "renders/u1.mp4")


def test_an_output_that_could_not_be_looked_for_leaves_everything(make: Any) -> None:
    assert make.decide(make.task(), make.evidence(outputs={UID: OutputSeen(Output.UNKNOWN)})).kind is K.LEAVE


@pytest.mark.parametrize("output", [Output.ABSENT, Output.TORN])
def test_missing_twice_with_a_healthy_farm_queues_a_new_submission(make: Any, output: Output) -> None:
    act = make.decide(make.task(), make.evidence(outputs={UID: OutputSeen(output)}))
    assert (act.kind, act.outcome) == (K.SUBMIT, "missing")


def test_the_first_missing_answer_is_only_remembered(make: Any) -> None:
    once = make.render(missing_since=None, unanswered_since=ago(minutes=10))
    act = make.decide(make.task(once), make.evidence())
    assert (act.kind, act.until) == (K.SUSPECT, ahead(seconds=60))
    assert (act.render.missing_since, act.render.unanswered_since) == (NOW, None)


def test_two_reads_less_than_a_minute_apart_are_one(make: Any) -> None:
    asked = make.render(missing_since=ago(seconds=59), unanswered_since=ago(minutes=10))
    assert make.decide(make.task(asked), make.evidence()).kind is K.SUSPECT
    asked = make.render(missing_since=ago(seconds=60), unanswered_since=ago(minutes=10))
    assert make.decide(make.task(asked), make.evidence()).kind is K.SUBMIT


@pytest.mark.parametrize(
    "store",
    [
        StoreSeen(healthy=False, census=Census({}), active=frozenset()),
        StoreSeen(healthy=True, census=UnknownAnswer("timeout"), active=frozenset()),
    ],
)
def test_an_unhealthy_or_unreadable_farm_replaces_nothing(make: Any, store: StoreSeen) -> None:
    act = make.decide(make.task(), make.evidence(store=store))
    assert (act.kind, act.sighting) == (K.LEAVE, None)


def test_a_uid_that_the_list_has_is_not_missing(make: Any) -> None:
    store = StoreSeen(healthy=True, census=make.others(UID, "u2"), active=frozenset({UID, "u2"}))
    assert make.decide(make.task(), make.evidence(store=store)).kind is K.LEAVE


@pytest.mark.parametrize(
    ("listed", "active"),
    [((), {UID}), ((), {UID, "u2", "u3"}), (("x",), {UID, "u2", "u3"}), (("u4", "u5", "u6"), {UID, "u2", "u3", "u4"})],
)
def test_a_farm_that_lost_its_store_freezes_submissions(make: Any, listed: tuple[str, ...], active: set[str]) -> None:
    store = StoreSeen(healthy=True, census=make.others(*listed), active=frozenset(active))
    act = make.decide(make.task(), make.evidence(store=store))
    assert act.kind is K.LEAVE
    assert act.sighting.code is FindingCode.RENDER_STORE_LOST
    assert act.sighting.evidence["missing"] == len(active - set(listed))


@pytest.mark.parametrize("active", [{UID, "u2"}, {UID, "x1", "x2", *(f"u{n}" for n in range(2, 12))}])
def test_single_losses_are_no_lost_store(make: Any, active: set[str]) -> None:
    """One of two, or three of thirteen."""
    listed = [uid for uid in active if uid != UID and not uid.startswith("x")]
    store = StoreSeen(healthy=True, census=make.others(*listed), active=frozenset(active))
    assert make.decide(make.task(), make.evidence(store=store)).kind is K.SUBMIT


def test_a_person_may_approve_a_submission_from_a_lost_store(make: Any) -> None:
    store = StoreSeen(healthy=True, census=Census({}), active=frozenset({UID, "u2", "u3"}))
    for approved, kind in ((frozenset({UID}), K.SUBMIT), (frozenset({"u2"}), K.LEAVE)):
        assert make.decide(make.task(), make.evidence(store=store, approved=approved)).kind is kind


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        ({"answers": {UID: UnknownAnswer("timeout")}}, K.LEAVE),
        ({"outputs": {UID: OutputSeen(Output.SOUND, "k")}}, K.ADOPT),
        ({"outputs": {UID: OutputSeen(Output.UNKNOWN)}}, K.LEAVE),
    ],
)
def test_an_approval_does_not_stand_for_evidence(make: Any, known: dict[str, Any], kind: K) -> None:
    assert make.decide(make.task(), make.evidence(approved=frozenset({UID}), **known)).kind is kind


def test_an_approval_does_not_replace_what_the_farm_knows(make: Any) -> None:
    evidence = make.evidence(approved=frozenset({UID}), **make.knows("queued"))
    assert make.decide(make.task(), evidence).kind is K.LEAVE


def test_an_unknown_answer_only_starts_the_clock_of_silence(make: Any) -> None:
    act = make.decide(make.task(), make.evidence(answers={UID: UnknownAnswer("status 403")}))
    assert (act.kind, act.until) == (K.LEAVE, ahead(minutes=5))
    assert (act.render.unanswered_since, act.render.missing_since) == (NOW, ago(minutes=10))


def test_an_answer_about_another_uid_is_no_answer(make: Any) -> None:
    answers = {UID: Known(make.record("finished", uid="u9"))}
    act = make.decide(make.task(), make.evidence(answers=answers))
    assert (act.kind, act.render) == (K.LEAVE, None)


def test_the_fourth_submission_is_never_made(make: Any) -> None:
    spent = [RenderAttempt(uid=f"u{n}", submitted_at=ago(hours=1)) for n in range(3)]
    act = make.decide(make.task(make.render(attempts=spent)), make.evidence())
    assert (act.kind, act.ends_as) == (K.STRAND, TaskStatus.FAILED)


def test_the_ninth_execution_is_never_made(make: Any) -> None:
    act = make.decide(make.task(executions=8), make.evidence())
    assert (act.kind, act.ends_as) == (K.STRAND, TaskStatus.DEAD)


def test_a_worker_that_is_submitting_is_left_alone(make: Any) -> None:
    submitting = make.task(lease=lease(ends=ago(seconds=119)))
    act = make.decide(submitting, make.evidence())
    assert (act.kind, act.until) == (K.LEAVE, ahead(seconds=1))
    assert make.decide(make.task(lease=lease(ends=ago(seconds=120))), make.evidence()).kind is K.SUBMIT
    stopped = make.evidence(owners={"boot-a": OwnerState.STOPPED})
    assert make.decide(submitting, stopped).kind is K.SUBMIT


def test_a_clock_that_went_back_starts_the_second_read_anew(make: Any) -> None:
    future = make.render(missing_since=ahead(days=300), unanswered_since=ago(minutes=10))
    act = make.decide(make.task(future), make.evidence())
    assert (act.kind, act.render.missing_since, act.until) == (K.SUSPECT, NOW, ahead(seconds=60))
