"""prefect.yaml is what the registry says, and asks for what it needs before Prefect sees it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from deployments.environment import require_variables
from deployments.generate import LOCAL, TARGETS, demo, render
from deployments.registry import MISSIONS
from mos.domain.errors import SettingsError

PROJECT = Path(__file__).parents[2]
COMPLETE = {
    "MISSION_DIR": "/srv",
    "MISSION_ENV": "test",
    "MISSION_POOL": "p",
    "MISSION_PYTHON": "python",
    "MISSION_VERSION": "1",
    "PREFECT_API_URL": "http://127.0.0.1:1/api",
}


def deployments(text):
    return {d["name"]: d for d in yaml.safe_load(text)["deployments"]}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: str(target.file))
def test_the_committed_file_is_what_the_registry_generates(target):
    assert (PROJECT / target.file).read_text() == render(MISSIONS, target), "run: python -m deployments.generate"


@pytest.mark.parametrize("mission", MISSIONS, ids=lambda mission: mission.name)
def test_every_mission_is_deployed_so_that_it_survives(mission):
    """Limit 1, later runs cancelled rather than queued up, heartbeats each 30 s, one process a run."""
    deployed = deployments(render(MISSIONS))[mission.name]
    assert deployed["concurrency_limit"] == {
        "limit": 1,
        "collision_strategy": "CANCEL_NEW",
        "grace_period_seconds": mission.grace.total_seconds(),
    }
    variables = deployed["work_pool"]["job_variables"]
    assert variables["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert variables["command"].endswith("-m prefect.engine")
    assert deployed["schedules"][0]["interval"] == mission.every.total_seconds()


@pytest.mark.parametrize("mission", MISSIONS, ids=lambda mission: mission.name)
def test_every_entrypoint_exists_and_every_run_can_be_dry(mission):
    file, flow = mission.entrypoint.split(":")
    assert f"def {flow}(" in (PROJECT / file).read_text()
    assert mission.parameters["dry_run"] is False
    assert mission.description


def test_no_two_missions_of_one_interval_start_at_the_same_second():
    """A start costs two seconds of CPU; ten at once took up to 97 s."""
    for pace in (lambda m: m.every, lambda m: m.demo_every):
        starts = [(pace(m), m.stagger % pace(m)) for m in MISSIONS]
        assert len(set(starts)) == len(starts)


def test_the_demo_runs_the_same_deployments_more_often():
    production, fast = deployments(render(MISSIONS)), deployments(render(MISSIONS, LOCAL, pace=demo))
    for mission in MISSIONS:
        assert fast[mission.name]["schedules"][0]["interval"] == mission.demo_every.total_seconds()
        fast[mission.name]["schedules"] = production[mission.name]["schedules"]
    assert fast == production


def test_a_text_that_yaml_would_misread_stays_a_text():
    odd = replace(MISSIONS[0], description='yes: "no" # {{ 1 }} \\ ü', every=timedelta(seconds=90))
    assert deployments(render([odd]))[odd.name]["description"] == odd.description


@pytest.mark.parametrize("name", sorted(COMPLETE))
@pytest.mark.parametrize("value", [None, ""])
def test_an_unset_variable_is_named_before_prefect_takes_its_placeholder_for_a_value(name, value):
    environment = {**COMPLETE, name: value} if value is not None else {k: v for k, v in COMPLETE.items() if k != name}
    with pytest.raises(SettingsError, match=rf"^set {name} before deploying \({name}: \w+"):
        require_variables(render(MISSIONS), environment)


def test_all_missing_variables_are_named_at_once():
    with pytest.raises(SettingsError, match="set " + ", ".join(sorted(COMPLETE))):
        require_variables(render(MISSIONS), {})


def test_a_complete_environment_is_accepted():
    require_variables(render(MISSIONS), COMPLETE)
