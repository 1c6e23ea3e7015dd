"""A deployed mission runs on, whatever is killed. With real signals, on a real server."""

import os
import signal

import psutil
import pytest

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(240)]

LEASE = 360
SOON = 60
"""Seconds: three intervals of 6 s, and what the server and the worker need to start again on a busy machine."""


def kill_run(beat):
    os.kill(beat.pid, signal.SIGKILL)


def test_after_sigkill_of_the_run(stack):
    beat = stack.held_run()
    kill_run(beat)
    stack.runs_on_after(beat, within=SOON)
    assert stack.run(beat.id).type == "CRASHED"


def test_after_sigkill_of_the_worker(stack):
    """The orphaned run is ended with its worker, and its slot is freed by the janitor."""
    beat = stack.held_run()
    stack.kill("prefect-worker")
    stack.eventually(lambda: not psutil.pid_exists(beat.pid))
    stack.runs_on_after(beat, within=SOON)
    state = stack.run(beat.id)
    assert state.type == "CRASHED"
    assert "without a process" in state.message


def test_after_sigkill_of_server_worker_and_run_together(stack):
    beat = stack.held_run()
    stack.kill("prefect-server", "prefect-worker")
    kill_run(beat)
    stack.runs_on_after(beat, within=SOON)
    state = stack.run(beat.id)
    assert state.type == "CRASHED"
    assert "without a process" in state.message


@pytest.mark.prove
@pytest.mark.timeout(600)
def test_after_sigkill_of_the_server(stack):
    """The run that was under way reports its end when the server is back, or its slot is freed once it gave up."""
    beat = stack.held_run()
    stack.kill("prefect-server")
    stack.runs_on_after(beat, within=LEASE)
    assert stack.eventually(lambda: stack.run(beat.id).type in {"COMPLETED", "CRASHED"})
