"""What holds whatever happened: for every history, answer, clock and budget."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mos.domain.model import Render, RenderAttempt
from mos.domain.rendering import (
    Census,
    FarmRecord,
    HostLoss,
    Known,
    Missing,
    Output,
    OutputSeen,
    RenderActKind,
    RenderEvidence,
    RenderLimits,
    StoreSeen,
    UnknownAnswer,
    decide_render,
    observe,
)
from mos.domain.staleness import QueueState
from tests.builders import NOW, policy, task

K = RenderActKind
UID = "u1"
REPLACING = {K.SUBMIT, K.STRAND, K.REAP}
OFFSETS = st.integers(-20_000, 400).map(lambda seconds: NOW + timedelta(seconds=seconds))
MAYBE = st.none() | OFFSETS
STATES = st.sampled_from(["queued", "picked", "started", "render:dorender", "finished", "error", "strange"])
RECORDS = st.builds(
    FarmRecord, uid=st.just(UID), state=STATES, executor=st.sampled_from(["i-1", "i-2"]), updated_at=MAYBE
)
KNOWN = RECORDS.map(Known)
UNKNOWN = st.sampled_from(["403", "timeout", "another uid", "not JSON"]).map(UnknownAnswer)
MISSING = st.builds(Missing)
TIMES = ("submitted_at", "last_polled_at", "last_answer_at", "last_change_at", "missing_since", "unanswered_since")
RENDERS = st.fixed_dictionaries(
    {
        "uid": st.just(UID),
        "executor": st.sampled_from(["i-1", "i-2"]),
        "attempts": st.integers(0, 4).map(lambda n: [RenderAttempt(uid="u0", submitted_at=NOW)] * n),
        **dict.fromkeys(TIMES, MAYBE),
    }
).map(lambda fields: Render(**fields))
OUTPUTS = st.sampled_from(Output).map(lambda state: OutputSeen(state, "k"))
CENSUSES = st.sets(st.sampled_from([UID, "u2", "u3", "u4"])).map(
    lambda uids: Census({uid: FarmRecord(uid=uid, state="queued") for uid in uids})
)
STORES = st.builds(
    StoreSeen,
    healthy=st.booleans(),
    census=CENSUSES | UNKNOWN,
    active=st.sets(st.sampled_from([UID, "u2", "u3", "u4"])).map(frozenset),
)
HOSTS = st.dictionaries(st.sampled_from(["i-1", "i-2"]), OFFSETS.map(HostLoss))
QUEUES = st.sampled_from([((0, 0), (0, 0)), ((0, 5), (0, 4)), ((9, 1), (8, 2))]).map(
    lambda readings: {"mos-render-poll": QueueState("mos-render-poll", readings, None, None)}
)


def evidence(answers: Any, *, hosts: Any = HOSTS, approved: Any = frozenset()) -> st.SearchStrategy[RenderEvidence]:
    return st.builds(
        RenderEvidence,
        answers=answers.map(lambda answer: {UID: answer}),
        outputs=OUTPUTS.map(lambda seen: {UID: seen}),
        hosts=hosts,
        store=STORES,
        queues=QUEUES,
        approved=st.sampled_from([frozenset(), approved]),
    )


def decide(render: Render, seen: RenderEvidence, **options: Any) -> Any:
    found = task("running", id="j.render", shot_id=None, step_type="render", lease=None, render=render)
    return decide_render(found, seen, **({"now": NOW, "limits": RenderLimits(), "policy": policy()} | options))


@given(RENDERS, evidence(UNKNOWN, approved=frozenset({UID})))
def test_unknown_never_leads_to_a_resubmission_whatever_the_history(render: Render, seen: RenderEvidence) -> None:
    assert decide(render, seen).kind not in REPLACING | {K.ADOPT}


@given(RENDERS, evidence(KNOWN, hosts=st.just({}), approved=frozenset({UID})))
def test_time_alone_never_replaces_a_render_that_the_farm_knows(render: Render, seen: RenderEvidence) -> None:
    assert decide(render, seen).kind in {K.LEAVE, K.REPOLL}


@given(RENDERS, evidence(KNOWN | MISSING | UNKNOWN))
def test_without_a_look_at_the_farm_only_polls_are_sent(render: Render, seen: RenderEvidence) -> None:
    nothing = RenderEvidence(queues=seen.queues, hosts=seen.hosts)
    assert decide(render, nothing).kind in {K.LEAVE, K.REPOLL, K.LOOK}


@given(RENDERS, evidence(KNOWN | MISSING | UNKNOWN))
def test_a_replacement_rests_on_every_piece_of_evidence(render: Render, seen: RenderEvidence) -> None:
    if decide(render, seen).kind not in REPLACING:
        return
    answer, store = seen.answers[UID], seen.store
    assert not isinstance(answer, UnknownAnswer)
    assert store is not None
    assert store.healthy
    assert isinstance(store.census, Census)
    assert store.census.records or not store.active
    assert seen.outputs[UID].state in {Output.ABSENT, Output.TORN}
    if isinstance(answer, Missing):
        assert render.missing_since is not None
        assert render.missing_since <= NOW - timedelta(seconds=60)
        assert UID not in store.census.records
    else:
        assert answer.record.active
        assert seen.hosts[answer.record.executor or ""].at <= NOW - timedelta(seconds=60)


@given(RENDERS, evidence(KNOWN | MISSING | UNKNOWN), st.integers(0, 30_000))
def test_a_clock_that_goes_back_never_makes_anything_more_urgent(
    render: Render, seen: RenderEvidence, seconds: int
) -> None:
    """What is not replaced now is not replaced at an earlier time either."""
    if decide(render, seen).kind not in REPLACING:
        assert decide(render, seen, now=NOW - timedelta(seconds=seconds)).kind not in REPLACING


@given(RENDERS, evidence(KNOWN | MISSING | UNKNOWN))
def test_every_look_ends_with_a_next_one_within_five_minutes(render: Render, seen: RenderEvidence) -> None:
    act = decide(render, seen)
    assert act.until is not None
    assert act.until <= NOW + timedelta(minutes=5)
    assert act.reason


@given(RENDERS, evidence(KNOWN | MISSING | UNKNOWN))
def test_no_fourth_submission(render: Render, seen: RenderEvidence) -> None:
    if decide(render, seen).kind is K.SUBMIT:
        assert len(render.attempts) < 3


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 600), KNOWN | MISSING | UNKNOWN), max_size=12))
def test_a_series_of_answers_is_missing_only_while_nothing_else_was_known(history: list[tuple[int, Any]]) -> None:
    now, render, since = NOW, Render(uid=UID, submitted_at=NOW), None
    for seconds, answer in history:
        now += timedelta(seconds=seconds)
        render = observe(render, answer, now=now)
        if isinstance(answer, Known):
            since = None
        elif isinstance(answer, Missing):
            since = since or now
    assert render.missing_since == since


@pytest.mark.parametrize("scale", [1, 1 / 60])
def test_scaled_limits_keep_two_reads_apart(scale: float) -> None:
    scaled = RenderLimits().scaled(scale)
    assert timedelta(seconds=1) < scaled.corroborate_after < scaled.look_every
