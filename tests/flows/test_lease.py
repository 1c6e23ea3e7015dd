"""Without the janitor: how long Prefect itself needs to let a mission run again.

Its own means are the zombie automation (three missed heartbeats) and the end
of the engine's lease (hard-coded 300 s). These are the times of a deployment
whose janitor is down too.
"""

import os
import signal
import time

import psutil
import pytest

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(900), pytest.mark.prove]

OWN_LEASE = 360


@pytest.fixture(scope="module")
def alone(make_stack):
    """A stack without the slot janitor."""
    return make_stack("slot-janitor")


@pytest.mark.parametrize(
    "parts", [("prefect-worker",), ("prefect-server", "prefect-worker")], ids=["worker and run", "server too"]
)
def test_the_mission_runs_again_after_prefects_own_lease_at_the_latest(alone, parts, record_property):
    alone.settle()
    beat = alone.held_run()
    began = time.monotonic()
    alone.kill(*parts)
    os.kill(beat.pid, signal.SIGKILL)
    alone.eventually(lambda: not psutil.pid_exists(beat.pid))
    alone.runs_on_after(beat, within=OWN_LEASE)
    record_property("seconds", time.monotonic() - began)
    record_property("state", alone.run(beat.id).type)
