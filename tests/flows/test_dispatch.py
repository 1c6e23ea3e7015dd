"""Dispatch as it is deployed: a pending job starts, by a run that a person asked for."""

from __future__ import annotations

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

from mos.domain.jobs import JobRequest
from mos.missions.create_job import create_job
from mos.runtime import SystemRuntime
from mos.store.gateway import Gateway
from tests.builders import policy

pytestmark = [pytest.mark.xdist_group("prefect"), pytest.mark.timeout(240)]
JOB = "dispatched-by-a-run"


@pytest.fixture
def client(stack, monkeypatch):
    for name, value in stack.env.items():
        monkeypatch.setenv(name, value)
    client = firestore.Client(project=stack.env["MOS_PROJECT"], credentials=AnonymousCredentials())
    yield client
    client.close()


def test_a_run_starts_the_pending_job_and_reports_it(stack, client):
    """Its tasks are queued and sent, the run's state says what was done, and the heartbeat is stamped."""
    gateway = Gateway(client, policy(), SystemRuntime(), actor="test")
    request = JobRequest(
        job_id=JOB, kind="base_clip_batch", shots={"s1": {"sourceKey": "inputs/a.jpg"}}, correlation_id="cor"
    )
    create_job(gateway, policy(), request)
    deployment = stack.deployment("dispatch", flow="dispatch")["id"]
    run = stack.api.post(f"/deployments/{deployment}/create_flow_run", json={}).raise_for_status().json()["id"]
    final = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
    state = stack.eventually(lambda: (state := stack.run(run).type in final and stack.run(run)) and state)
    assert (state.type, state.message) == ("COMPLETED", "1 × start done")
    assert client.document(f"jobs/{JOB}").get().get("status") == "processing"
    task = client.document(f"tasks/{JOB}.s1.image_edit").get()
    assert (task.get("status"), task.get("send.state")) == ("queued", "sent")
    assert client.document("infraStatus/missions").get().get("dispatch.startedRun") == run
