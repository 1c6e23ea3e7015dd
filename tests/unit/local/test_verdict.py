"""The demo's verdict means it: anything lost, doubled, not struck or not recovered makes it bad."""

from __future__ import annotations

import dataclasses

import pytest

from mos.local.demo.verdict import FaultOutcome, Verdict, duplicated, lost
from tests.builders import job, task

RECOVERED = FaultOutcome("a fault", "worker-1", struck=True, seconds=12.0, how="taken over")
GOOD = Verdict(jobs=2, completed=2, lost=(), duplicated=(), faults=(RECOVERED,))


def entry(act, *changes):
    return {"act": act, "changes": [dict(zip(("path", "before", "after"), change, strict=True)) for change in changes]}


def test_all_completed_and_all_recovered_is_good():
    assert GOOD.good


@pytest.mark.parametrize(
    "changed",
    [
        {"completed": 1},
        {"jobs": 0, "completed": 0},
        {"lost": ("task t is queued",)},
        {"duplicated": ("tasks/t was completed 2 times",)},
        {"faults": ()},
        {"faults": (RECOVERED, FaultOutcome("never struck", "", struck=False, seconds=None, how=""))},
        {"faults": (FaultOutcome("not recovered", "x", struck=True, seconds=None, how=""),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_anything_else_is_bad(changed):
    assert not dataclasses.replace(GOOD, **changed).good


def test_what_did_not_end_completed_is_lost():
    found = lost([job("processing"), job("completed", id="k")], [task("queued"), task("completed", id="done")])
    assert found == ("job j is processing", "task j.s1.upscale is queued")


def test_a_second_completion_and_a_second_hand_over_are_doubled_effects():
    once = entry("complete", ("tasks/a", "running", "completed"), ("tasks/b", "waiting", "queued"))
    assert duplicated([once]) == ()
    assert duplicated([once, once]) == ("tasks/a was completed 2 times", "tasks/b was queued 2 times")


def test_a_retry_that_queues_again_is_no_doubled_effect():
    assert duplicated([entry("retry", ("tasks/a", "running", "queued"))] * 2) == ()


def test_times_to_recover_are_measured_ones():
    faults = tuple(dataclasses.replace(RECOVERED, seconds=float(n)) for n in (4, 1, 3, 2))
    verdict = dataclasses.replace(GOOD, faults=faults)
    assert (verdict.recovery_time(0.5), verdict.recovery_time(1.0)) == (2.0, 4.0)
    assert dataclasses.replace(GOOD, faults=()).recovery_time(0.5) is None
