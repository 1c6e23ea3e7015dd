"""The slot janitor on a real server."""

import httpx
import pytest

from mos.local.orchestration.condemn import Patience
from mos.local.orchestration.janitor import Janitor, runs_with_a_process
from mos.local.supervisor import free_port

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(240)]

LONG_AFTER = 10_000.0


@pytest.fixture
def janitor(stack):
    """One of our own beside the stack's, with a clock that the test moves."""
    return Janitor(stack.api, Patience(running=60, pending=60))


@pytest.fixture
def submit(stack):
    """Make a run of the deployment that no worker is due to fetch, and put it into Pending as a worker would."""

    def make():
        deployment = stack.deployment("idle")["id"]
        far = {"type": "SCHEDULED", "state_details": {"scheduled_time": "2090-01-01T00:00:00Z"}}
        run = (
            stack.api.post(f"/deployments/{deployment}/create_flow_run", json={"state": far}).raise_for_status().json()
        )
        answer = stack.api.post(f"/flow_runs/{run['id']}/set_state", json={"state": {"type": "PENDING"}})
        return run["id"], answer.raise_for_status().json()["state"]["type"]

    return make


def test_a_run_that_never_got_a_process_gives_its_slot_back(stack, janitor, submit):
    """Its worker died between fetching it and starting it."""
    first, state = submit()
    assert state == "PENDING"
    assert submit()[1] == "CANCELLED"
    assert first not in janitor.look(0)
    assert first in janitor.look(LONG_AFTER)
    assert stack.run(first).type == "CRASHED"
    again, state = submit()
    assert state == "PENDING"
    janitor.look(0)
    janitor.look(LONG_AFTER)
    assert stack.run(again).type == "CRASHED"


def test_a_run_that_lives_keeps_its_slot(stack, janitor):
    beat = stack.held_run()
    assert beat.id in runs_with_a_process()
    janitor.look(0)
    assert beat.id not in janitor.look(LONG_AFTER)
    assert stack.run(beat.id).type == "RUNNING"


def test_an_api_that_is_down_is_an_error_of_that_look_alone():
    with httpx.Client(base_url=f"http://127.0.0.1:{free_port()}/api") as nobody, pytest.raises(httpx.HTTPError):
        Janitor(nobody, Patience()).look(0)
