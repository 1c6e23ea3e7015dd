"""A supervisor that was killed: the next one cleans up, and touches nothing else."""

import os
import signal
import subprocess
import sys

import pytest

from mos.local.supervisor import Down, PartRecord, Phase, StackRecord, Supervisor, running, stop_detached
from mos.local.supervisor.record import write

STACK = """
import pathlib, sys
from mos.local.supervisor import LogLine, Part, Supervisor
part = Part(name="service", argv=[sys.executable, "-S", "-c", sys.argv[2]], ready=LogLine("^up$"))
supervisor = Supervisor([part], pathlib.Path(sys.argv[1]))
supervisor.start()
print("started", flush=True)
supervisor.wait()
"""


@pytest.fixture
def killed(state_dir, parent_program, child_of):
    """The record of a stack whose supervisor got SIGKILL, and the pid of a part's child that left its session."""
    argv = [sys.executable, "-c", STACK, str(state_dir), parent_program(leaves=True)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"started\n"
        record = running(state_dir)
        process.kill()
    return record, child_of(record)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a child with its parent")
def test_its_parts_die_with_it(killed, eventually, gone):
    record, _ = killed
    eventually(lambda: gone(record.part("service").pid))


def test_the_next_start_ends_what_is_left_and_comes_up(killed, part, state_dir, gone):
    _, child = killed
    assert not gone(child)
    assert running(state_dir) is None
    with Supervisor([part()], state_dir) as supervisor:
        assert supervisor.leftovers >= 1
        assert gone(child)


def test_down_ends_what_is_left(killed, state_dir, gone):
    _, child = killed
    assert stop_detached(state_dir) is Down.LEFTOVERS
    assert gone(child)
    assert stop_detached(state_dir) is Down.NOTHING


def test_it_is_found_without_its_record_too(killed, part, state_dir, gone):
    _, child = killed
    (state_dir / "stack.json").write_text("{ damaged")
    with Supervisor([part()], state_dir):
        assert gone(child)


def test_a_recorded_pid_that_now_is_another_program_is_left_alone(part, state_dir, gone):
    with subprocess.Popen(["/bin/sleep", "60"]) as stranger:
        log = state_dir / "logs" / "x.log"
        stale = PartRecord(
            name="x",
            phase=Phase.READY,
            pid=stranger.pid,
            identity="boot:1",
            restarts=0,
            address=None,
            log=log,
            reason="",
        )
        state_dir.mkdir()
        record = StackRecord(
            supervisor=os.getpid(), supervisor_identity="boot:1", up=True, parts=(stale,), addresses={}
        )
        write(state_dir / "stack.json", record)
        assert running(state_dir) is None
        with Supervisor([part()], state_dir) as supervisor:
            assert supervisor.leftovers == 0
        assert not gone(stranger.pid)
        stranger.send_signal(signal.SIGTERM)
