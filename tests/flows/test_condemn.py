"""Which runs the janitor takes for dead."""

import pytest

from mos.local.orchestration.condemn import Patience, Run, RunState, condemned, still_missing

RUNNING = Run(id="r", name="run", state=RunState.RUNNING)
PENDING = Run(id="r", name="run", state=RunState.PENDING)
PATIENCE = Patience(running=2, pending=20)


def look(run, *, alive, before, now):
    return still_missing([run], alive=frozenset(alive), before=before, now=now)


def verdict(missing, now):
    return condemned(missing, now=now, patience=PATIENCE)


@pytest.mark.parametrize("run", [RUNNING, PENDING])
def test_a_run_with_a_process_is_never_condemned(run):
    missing = look(run, alive=["r"], before={}, now=0)
    assert verdict(look(run, alive=["r"], before=missing, now=1000), 1000) == {}


@pytest.mark.parametrize(
    ("run", "after", "dead"),
    [(RUNNING, 1.9, False), (RUNNING, 2, True), (PENDING, 19.9, False), (PENDING, 20, True)],
)
def test_a_run_without_a_process_is_condemned_after_its_states_patience(run, after, dead):
    missing = look(run, alive=[], before={}, now=100)
    missing = look(run, alive=[], before=missing, now=100 + after)
    assert bool(verdict(missing, 100 + after)) is dead


def test_one_look_condemns_nobody():
    """Between the question to Prefect and the look at the processes a run may have ended well."""
    assert verdict(look(RUNNING, alive=[], before={}, now=5), 5) == {}


def test_a_process_that_is_seen_again_starts_the_count_anew():
    missing = look(RUNNING, alive=[], before={}, now=0)
    missing = look(RUNNING, alive=["r"], before=missing, now=1)
    missing = look(RUNNING, alive=[], before=missing, now=10)
    assert verdict(missing, 11) == {}


def test_a_change_of_state_starts_the_count_anew():
    """A Pending run that was long without a process has just become Running."""
    missing = look(PENDING, alive=[], before={}, now=0)
    missing = look(RUNNING, alive=[], before=missing, now=19)
    assert verdict(missing, 20) == {}


def test_the_reason_is_a_sentence():
    missing = look(RUNNING, alive=[], before={}, now=0)
    assert verdict(missing, 3) == {"r": "Running, but without a process for 3 s: it was killed"}
