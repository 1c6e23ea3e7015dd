"""A stack in the foreground and one that runs on detached."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mos.local.supervisor import Down, StackError, running, start_detached, stop_detached

SERVICE = "print('up', flush=True); import signal; signal.pause()"
NEVER_UP = "import signal; signal.pause()"
COMMAND = """
import pathlib, sys
from mos.local.supervisor import LogLine, Part, StackError, Supervisor, run_foreground
part = Part(name="service", argv=[sys.executable, "-S", "-c", sys.argv[2]], ready=LogLine("^up$"))
try:
    supervisor = Supervisor([part], pathlib.Path(sys.argv[1]))
    code = run_foreground(supervisor, on_up=lambda record: print("table", record.up, flush=True))
except StackError as error:
    print(error, file=sys.stderr)
    code = error.exit_code
sys.exit(code)
"""


def command(state_dir: Path, program: str = SERVICE) -> list[str]:
    return [sys.executable, "-c", COMMAND, str(state_dir), program]


@pytest.fixture
def foreground(state_dir):
    with subprocess.Popen(command(state_dir), stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"table True\n"
        yield process
        process.kill()


@pytest.fixture
def detached(state_dir):
    yield start_detached(command(state_dir), state_dir, timeout=30)
    stop_detached(state_dir)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)])
def test_a_signal_ends_it_with_its_exit_code_and_nothing_is_left(foreground, state_dir, gone, number, code):
    pid = running(state_dir).part("service").pid
    foreground.send_signal(number)
    assert foreground.wait(20) == code
    assert gone(pid)
    assert not (state_dir / "stack.json").exists()


def test_ctrl_c_while_it_starts_ends_it_too(state_dir, eventually, gone):
    with subprocess.Popen(command(state_dir, NEVER_UP)) as process:
        pid = eventually(lambda: (record := running(state_dir)) and record.part("service").pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert gone(pid)


def test_down_ends_a_stack_in_the_foreground(foreground, state_dir):
    assert stop_detached(state_dir) is Down.ENDED
    assert foreground.wait(20) == 0


def test_a_supervisor_that_does_not_answer_is_killed_and_its_parts_with_it(foreground, state_dir, gone):
    pid = running(state_dir).part("service").pid
    foreground.send_signal(signal.SIGSTOP)
    assert stop_detached(state_dir, timeout=0.2) is Down.ENDED
    assert gone(pid)


def test_a_detached_stack_is_up_when_its_starter_returns_and_runs_on(detached, state_dir, gone):
    assert detached.up
    assert running(state_dir) == detached
    assert not gone(detached.part("service").pid)


def test_a_detached_stack_is_ended_by_down(detached, state_dir, gone):
    assert stop_detached(state_dir) is Down.ENDED
    assert gone(detached.part("service").pid)
    assert gone(detached.supervisor)
    assert running(state_dir) is None


def test_a_second_detached_start_gets_the_sentence_of_the_refused_one(detached, state_dir):
    with pytest.raises(StackError, match="already running from") as caught:
        start_detached(command(state_dir), state_dir, timeout=30)
    assert caught.value.exit_code == 69
    assert running(state_dir) == detached


def test_a_detached_stack_that_does_not_come_up_in_time_is_ended(state_dir, gone):
    with pytest.raises(StackError, match=r"not up within 1\.5 s"):
        start_detached(command(state_dir, NEVER_UP), state_dir, timeout=1.5)
    assert stop_detached(state_dir) is not Down.ENDED


def test_a_detached_command_that_dies_at_once_shows_its_log(state_dir):
    with pytest.raises(StackError, match=r"ended while it started(.|\n)*no such setting"):
        start_detached([sys.executable, "-S", "-c", "raise SystemExit('no such setting')"], state_dir, timeout=30)


def test_down_where_nothing_ever_ran_does_nothing(state_dir):
    assert stop_detached(state_dir) is Down.NOTHING
    assert not state_dir.exists()
