"""The life of a part, as a table."""

import pytest

from mos.local.supervisor import Finishes, Part, Phase, PortOpen, Restart
from mos.local.supervisor.machine import Do, PartState, Seen, advance

SERVICE = Part(
    name="p", argv=["p"], ready=PortOpen(1), start_timeout=10, restart=Restart(first=1, longest=8, steady=30)
)
STEP = Part(name="s", argv=["s"], ready=Finishes(), start_timeout=10)
WAITING = PartState()
STARTING = PartState(phase=Phase.STARTING, since=100)
READY = PartState(phase=Phase.READY, since=100, was_up=True)
RESTARTING = PartState(phase=Phase.STARTING, since=100, was_up=True, failures=2)
BACKING_OFF = PartState(phase=Phase.BACKING_OFF, since=100, retry_at=104, was_up=True, failures=3)


@pytest.mark.parametrize(
    ("state", "seen", "now", "phase", "do"),
    [
        (WAITING, Seen(dependencies_up=False), 100, Phase.WAITING, Do.NOTHING),
        (WAITING, Seen(), 100, Phase.STARTING, Do.SPAWN),
        (STARTING, Seen(), 109, Phase.STARTING, Do.NOTHING),
        (STARTING, Seen(ready=True), 109, Phase.READY, Do.NOTHING),
        (STARTING, Seen(), 110, Phase.FAILED, Do.END),
        (STARTING, Seen(exit_code=1), 101, Phase.FAILED, Do.END),
        (STARTING, Seen(exit_code=0), 101, Phase.FAILED, Do.END),
        (RESTARTING, Seen(exit_code=1), 101, Phase.BACKING_OFF, Do.END),
        (RESTARTING, Seen(), 110, Phase.BACKING_OFF, Do.END),
        (READY, Seen(), 101, Phase.READY, Do.NOTHING),
        (READY, Seen(exit_code=-9), 101, Phase.BACKING_OFF, Do.END),
        (READY, Seen(exit_code=0), 101, Phase.BACKING_OFF, Do.END),
        (BACKING_OFF, Seen(exit_code=-9), 103.9, Phase.BACKING_OFF, Do.NOTHING),
        (BACKING_OFF, Seen(exit_code=-9), 104, Phase.STARTING, Do.SPAWN),
        (BACKING_OFF, Seen(exit_code=-9, dependencies_up=False), 104, Phase.BACKING_OFF, Do.NOTHING),
    ],
)
def test_a_service_goes_from_phase_to_phase(state, seen, now, phase, do):
    new, done = advance(state, seen, now=now, part=SERVICE)
    assert (new.phase, done) == (phase, do)


@pytest.mark.parametrize(
    ("exit_code", "phase"), [(None, Phase.STARTING), (0, Phase.DONE), (3, Phase.FAILED), (-15, Phase.FAILED)]
)
def test_a_step_is_done_when_it_ends_well_and_failed_otherwise(exit_code, phase):
    assert advance(STARTING, Seen(exit_code=exit_code), now=101, part=STEP)[0].phase is phase


def test_a_done_step_is_never_started_again():
    done = PartState(phase=Phase.DONE, was_up=True)
    assert advance(done, Seen(exit_code=0), now=10_000, part=STEP) == (done, Do.NOTHING)


def test_the_pause_doubles_with_each_failure_in_a_row_up_to_its_bound():
    state, pauses = READY, []
    for _ in range(6):
        state, _do = advance(state, Seen(exit_code=1), now=100, part=SERVICE)
        pauses.append(state.retry_at - 100)
        state, _do = advance(state, Seen(exit_code=1), now=state.retry_at, part=SERVICE)
    assert pauses == [1, 2, 4, 8, 8, 8]
    assert state.restarts == 6


def test_a_part_that_ran_well_for_long_enough_starts_its_back_off_anew():
    failed_before = PartState(phase=Phase.READY, since=100, was_up=True, failures=5)
    calm, _ = advance(failed_before, Seen(), now=130, part=SERVICE)
    assert advance(calm, Seen(exit_code=1), now=131, part=SERVICE)[0].retry_at == 132


def test_a_part_that_came_up_only_briefly_keeps_its_back_off():
    failed_before = PartState(phase=Phase.READY, since=100, was_up=True, failures=2)
    still, _ = advance(failed_before, Seen(), now=129, part=SERVICE)
    assert advance(still, Seen(exit_code=1), now=129, part=SERVICE)[0].retry_at == 133


@pytest.mark.parametrize(("exit_code", "words"), [(-9, "ended by signal 9"), (2, "ended with exit code 2")])
def test_the_reason_says_how_it_ended(exit_code, words):
    assert advance(READY, Seen(exit_code=exit_code), now=101, part=SERVICE)[0].reason == words


def test_the_reason_says_that_it_took_too_long():
    assert advance(STARTING, Seen(), now=110, part=SERVICE)[0].reason == "was not ready within 10 s"
