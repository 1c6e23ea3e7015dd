"""Without the janitor: how long Prefect itself needs to let a mission run again.

Its own means are the zombie automation (three missed heartbeats) and the end
of the engine's lease (hard-coded 300 s). These are the times of a deployment
whose janitor is down too.
"""

import json
import logging
import os
import signal
import time
from datetime import UTC, datetime, timedelta

import psutil
import pytest

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(900), pytest.mark.prove]

OWN_LEASE = 360
log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def alone(make_stack):
    """A stack without the slot janitor."""
    return make_stack("slot-janitor")


def longest_lease(stack):
    """What is left of the lease that ends last."""
    leases = [json.loads(file.read_text()) for file in (stack.home / "concurrency_leases").glob("*-*.json")]
    ends = [datetime.fromisoformat(lease["expiration"]) for lease in leases]
    return max(ends, default=datetime.now(UTC)) - datetime.now(UTC)


def test_the_zombie_automation_crashes_a_run_whose_heartbeats_stop(alone):
    alone.settle()
    beat = alone.held_run()
    alone.eventually(lambda: heartbeats(alone, beat))
    began = time.monotonic()
    alone.kill("prefect-worker")
    os.kill(beat.pid, signal.SIGKILL)
    alone.eventually(lambda: alone.run(beat.id).type == "CRASHED", within=150)
    assert alone.run(beat.id).message.startswith("no heartbeat for 90 s")
    log.info("crashed by the automation after %.0f s", time.monotonic() - began)


def heartbeats(stack, beat):
    """How many of the run's heartbeats the server has on record."""
    wanted = {"event": {"name": ["prefect.flow-run.heartbeat"]}, "resource": {"id": [f"prefect.flow-run.{beat.id}"]}}
    return stack.api.post("/events/filter", json={"filter": wanted}).raise_for_status().json()["total"]


@pytest.mark.parametrize(
    "parts", [("prefect-worker",), ("prefect-server", "prefect-worker")], ids=["worker and run", "server too"]
)
def test_the_mission_runs_again_after_prefects_own_lease_at_the_latest(alone, parts):
    alone.settle()
    beat = alone.held_run()
    alone.eventually(lambda: longest_lease(alone) > timedelta(seconds=250))  # the engine's own, not the start's 60 s
    began = time.monotonic()
    alone.kill(*parts)
    os.kill(beat.pid, signal.SIGKILL)
    alone.eventually(lambda: not psutil.pid_exists(beat.pid))
    alone.runs_on_after(beat, within=OWN_LEASE)
    log.info("runs again after %.0f s; the killed run is %s", time.monotonic() - began, alone.run(beat.id).type)
