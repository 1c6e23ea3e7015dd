"""Carrying out acts: every act is tried, each result stands where its act stood, whatever the others did."""

from __future__ import annotations

import io
import threading

import pytest

from mos import logs
from mos.domain.errors import ConflictError, StateStoreError
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Outcome, Passes, Report
from mos.runtime import SystemRuntime


@pytest.fixture(autouse=True)
def quiet() -> None:
    logs.configure("test", stream=io.StringIO())


def describe(act: int) -> tuple[str, str, str]:
    return "act", str(act), "because"


def perform(act: int) -> ActResult:
    if act % 5 == 1:
        raise ConflictError("somebody was first")
    if act % 5 == 2:
        raise StateStoreError("the store did not answer")
    if act % 5 == 3:
        raise KeyError("a bug")
    if act % 5 == 4:
        raise KeyboardInterrupt("the thread is gone")
    return ActResult(*describe(act), Outcome.DONE)


@pytest.mark.parametrize("width", [2, 8, 100])
def test_no_act_stops_another_and_results_keep_the_order(width: int) -> None:
    acts = [0, 1, 2, 3, 5, 6, 7, 8, 10]
    results = carry_out(acts, perform, describe, SystemRuntime(), width=width)
    assert [result.subject for result in results] == [str(act) for act in acts]
    kinds = [Outcome.DONE, Outcome.OVERTAKEN, Outcome.FAILED, Outcome.FAILED]
    assert [result.outcome for result in results] == [kinds[act % 5] for act in acts]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_without_a_word_leaves_failed_acts() -> None:
    (first, second) = carry_out([0, 4], perform, describe, SystemRuntime(), width=2)
    assert (first.outcome, second.outcome, second.detail) == (Outcome.DONE, Outcome.FAILED, "it was broken off")


def test_acts_really_run_side_by_side_and_never_more_than_the_width() -> None:
    """Three meet at a barrier, which a pool of fewer could not pass; four at once would break it."""
    barrier, running, most, lock = threading.Barrier(3, timeout=20), 0, 0, threading.Lock()

    def meet(act: int) -> ActResult:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        barrier.wait()
        with lock:
            running -= 1
        return ActResult(*describe(act), Outcome.DONE)

    results = carry_out(range(6), meet, describe, SystemRuntime(), width=3)
    assert ({result.outcome for result in results}, most) == ({Outcome.DONE}, 3)


def test_with_a_width_of_one_no_thread_is_started() -> None:
    here = threading.get_ident()

    def look(act: int) -> ActResult:
        assert threading.get_ident() == here
        return ActResult(*describe(act), Outcome.DONE)

    assert len(carry_out([1, 2, 3], look, describe, SystemRuntime(), width=1)) == 3


def test_a_failed_pass_is_noted_and_gives_its_default() -> None:
    passes = Passes()
    assert passes.attempt("fine", lambda: 1, 0) == 1
    assert passes.attempt("store", lambda: perform(2), None) is None
    assert passes.attempt("bug", lambda: perform(3), None) is None
    assert passes.failed == {"store": "the store did not answer", "bug": "KeyError: 'a bug'"}


def test_a_report_counts_what_became_of_the_acts_and_shows_each() -> None:
    results = tuple(ActResult(*describe(act), outcome) for act, outcome in enumerate([Outcome.DONE, Outcome.OVERTAKEN]))
    report = Report("m", results, notes=("BACKLOG queues/q",))
    assert report.summary == "1 × act done, 1 × act overtaken; BACKLOG queues/q"
    assert report.rows()[1] == {"act": "act", "subject": "1", "why": "because", "outcome": "overtaken", "detail": ""}
    assert Report("m").summary == "nothing was due"
