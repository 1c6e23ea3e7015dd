"""What stands on the server after `python -m deployments.apply`."""

import asyncio
import gc
import os
import re
import subprocess
import sys

import httpx
import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from deployments import apply
from deployments.automations import apply_automations
from deployments.leases import require_durable_leases
from deployments.pool import require_pool
from mos.domain.errors import AppError, SettingsError
from mos.local.supervisor import free_port

pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Prefect leaves a socket to the collector
]


@pytest.fixture
def client_call(stack):
    """Call something with a Prefect client of the stack's server."""

    def call(work, *arguments):
        async def go():
            async with get_client() as client:
                return await work(client, *arguments)

        with temporary_settings({PREFECT_API_URL: stack.url}):
            result = asyncio.run(go())
        gc.collect()
        return result

    return call


@pytest.fixture
def environment(stack, project):
    """What a deployment needs."""
    return {
        "PREFECT_API_URL": stack.url,
        "PREFECT_HOME": str(stack.home),
        "MISSION_DIR": str(project),
        "MISSION_ENV": "local",
        "MISSION_POOL": "local",
        "MISSION_PYTHON": sys.executable,
        "MISSION_VERSION": "1",
    }


def test_the_limit_the_schedule_and_the_heartbeat_are_those_of_the_file(stack):
    deployment = stack.deployment("probe")
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["concurrency_options"] == {"collision_strategy": "CANCEL_NEW", "grace_period_seconds": 60}
    assert [s["schedule"]["interval"] for s in deployment["schedules"]] == [6.0]
    assert deployment["job_variables"]["env"] == {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
    assert deployment["tags"] == ["mission", "env:local"]


def test_the_leases_are_on_disk(stack, client_call):
    """In memory, the death of the server would end a mission for ever, silently."""
    settings = stack.api.get("/admin/settings").json()
    assert settings["server"]["concurrency"]["lease_storage"].endswith(".filesystem")
    assert settings["server"]["analytics_enabled"] is False
    client_call(require_durable_leases)


def test_a_server_that_keeps_leases_in_memory_is_refused():
    class Forgetful:
        async def request(self, method, path):
            storage = "prefect.server.concurrency.lease_storage.memory"
            return httpx.Response(200, json={"server": {"concurrency": {"lease_storage": storage}}})

    with pytest.raises(SettingsError, match="keeps its leases in memory; start it with PREFECT_SERVER_CONCURRENCY"):
        asyncio.run(require_durable_leases(Forgetful()))


def test_the_ui_is_served_from_the_package_alone(stack):
    page = httpx.get(stack.url.removesuffix("/api") + "/", follow_redirects=True).text
    sources = re.findall(r"<(?:script|link)[^>]+(?:src|href)=\"([^\"]+)\"", page)
    assert sources
    assert not [source for source in sources if "://" in source]


def test_an_automation_crashes_runs_without_a_heartbeat_and_is_there_once(stack, client_call):
    client_call(apply_automations)
    (automation,) = stack.api.post("/automations/filter", json={}).json()
    assert automation["name"] == "zombie-runs"
    assert automation["enabled"]
    assert automation["trigger"]["within"] == 90
    assert automation["actions"][0]["state"] == "CRASHED"


def test_a_pool_that_does_not_exist_is_named(client_call):
    client_call(require_pool, "local")
    with pytest.raises(AppError, match="the work pool nowhere does not exist; create it first"):
        client_call(require_pool, "nowhere")


def test_an_api_that_is_down_is_told_in_one_sentence(stack, environment, monkeypatch, capsys):
    nobody = f"http://127.0.0.1:{free_port()}/api"
    for name, value in {**environment, "PREFECT_API_URL": nobody}.items():
        monkeypatch.setenv(name, value)
    with temporary_settings({PREFECT_API_URL: nobody, PREFECT_CLIENT_MAX_RETRIES: 0}):
        assert apply.main(["--file", str(stack.deployment_file)]) == 69
    assert capsys.readouterr().err == f"no Prefect API answers at {nobody}; start it first\n"


def test_an_unset_variable_is_told_in_one_sentence(stack, environment, monkeypatch, capsys):
    for name, value in {**environment, "MISSION_POOL": ""}.items():
        monkeypatch.setenv(name, value)
    assert apply.main(["--file", str(stack.deployment_file)]) == 64
    assert capsys.readouterr().err.startswith("set MISSION_POOL before deploying (MISSION_POOL: the Prefect work pool")


def test_a_missing_file_is_told_in_one_sentence(tmp_path, capsys):
    assert apply.main(["--file", str(tmp_path / "none.yaml")]) == 64
    assert "none.yaml (No such file or directory); run this in the project's directory" in capsys.readouterr().err


@pytest.mark.prove
def test_deploying_again_changes_nothing(stack, environment, project):
    before = stack.deployment("probe")
    command = [sys.executable, "-m", "deployments.apply", "--file", str(stack.deployment_file)]
    subprocess.run(command, env={**os.environ, **environment}, cwd=project, check=True)
    after = stack.deployment("probe")
    for name in ("id", "tags", "parameters", "job_variables", "concurrency_options"):
        assert after[name] == before[name]
    assert [s["schedule"] for s in after["schedules"]] == [s["schedule"] for s in before["schedules"]]
