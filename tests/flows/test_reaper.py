"""The reaper as it is deployed, on embedded state and queues."""

import asyncio
import gc

import pytest
import structlog
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

from flows.reaper import reaper

pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Prefect leaves a socket to the collector
]


@pytest.fixture
def heartbeat(stack, monkeypatch):
    """Reads the reaper's entry in the heartbeat document, or nothing."""
    for name, value in stack.env.items():
        monkeypatch.setenv(name, value)
    client = firestore.Client(project=stack.env["MOS_PROJECT"], credentials=AnonymousCredentials())

    def read():
        return (client.document("infraStatus/missions").get().to_dict() or {}).get("reaper", {})

    yield read
    client.close()
    structlog.reset_defaults()  # a run in this process has set its logging up


@pytest.fixture
def start(stack):
    """Start a run of the deployment by hand, as a person does in the UI; gives the answer."""

    def go(**parameters):
        deployment = stack.deployment("reaper", flow="reaper")["id"]
        body = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        return stack.api.post(f"/deployments/{deployment}/create_flow_run", json=body)

    return go


def table_of(stack, run):
    """The run's one artifact."""
    wanted = {"artifacts": {"flow_run_id": {"any_": [run]}}}
    (found,) = stack.api.post("/artifacts/filter", json=wanted).raise_for_status().json()
    return found


def test_a_run_reports_in_a_table_and_stamps_the_heartbeat(stack, start, heartbeat):
    run = start().raise_for_status().json()["id"]
    final = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
    state = stack.eventually(lambda: (state := stack.run(run)).type in final and state)
    assert (state.type, state.message) == ("COMPLETED", "nothing was due")
    assert table_of(stack, run)["description"] == "nothing was due"
    assert heartbeat()["startedRun"] == run
    assert heartbeat()["lastResult"] == "nothing was due"


def test_a_dry_run_writes_nothing_not_even_a_heartbeat(stack, heartbeat):
    before = heartbeat()
    with temporary_settings({PREFECT_API_URL: stack.url, PREFECT_LOGGING_TO_API_ENABLED: False}):
        state = asyncio.run(reaper(dry_run=True, return_state=True))
    gc.collect()
    assert (state.type, state.name, state.message) == ("COMPLETED", "DryRun", "0 acts planned, nothing written")
    assert heartbeat() == before


@pytest.mark.parametrize("parameters", [{"max_acts": 0}, {"max_acts": 2001}, {"page": 0}, {"dry_run": "perhaps"}])
def test_parameters_out_of_bounds_are_refused_when_the_run_is_asked_for(start, parameters):
    answer = start(**parameters)
    assert answer.status_code == 409
    assert next(iter(parameters)) in answer.text or str(next(iter(parameters.values()))) in answer.text
