"""One real Prefect stack for all tests here: server, deployment, worker and janitor under the supervisor."""

import os
import signal
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest

from deployments.generate import render
from deployments.registry import MISSIONS, Mission
from mos.local import stack as local
from mos.local.orchestration import parts
from mos.local.supervisor import Part, Phase, Supervisor, free_port

PROJECT = Path(__file__).parents[2]
PROBE_EVERY = timedelta(seconds=6)


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's directory."""
    return PROJECT


@pytest.fixture(scope="session")
def eventually():
    """Wait until a condition holds and return what it gave; fail after `within` seconds."""

    def wait(condition, within=60.0):
        deadline = time.monotonic() + within
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not true within {within:g} s"
            time.sleep(0.1)
        return value

    return wait


@dataclass(frozen=True)
class Beat:
    """A run of the probe, as its journal tells."""

    id: str
    pid: int


class Probe:
    """The test mission's journal and gate."""

    def __init__(self, directory: Path) -> None:
        self.journal = directory / "journal"
        self.gate = directory / "gate"
        self.journal.touch()

    def beats(self, word: str) -> list[Beat]:
        lines = [line.split() for line in self.journal.read_text().splitlines()]
        return [Beat(id=line[1], pid=int(line[2])) for line in lines if line[0] == word]

    def mission(self, name: str, every: timedelta) -> Mission:
        parameters = {"journal": str(self.journal), "gate": str(self.gate)}
        entrypoint = "tests/flows/probe.py:probe"
        return Mission(
            name=name, entrypoint=entrypoint, description="a test", every=every, demo_every=every, parameters=parameters
        )


class PatientTransport(httpx.HTTPTransport):
    """Asks again after 503, which the server answers while its database is busy, as Prefect's own client does."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        for _ in range(20):
            response = super().handle_request(request)
            if response.status_code != 503:
                break
            response.close()
            time.sleep(0.2)
        return response


class Stack:
    """A running stack, the probe deployed in it, and its API."""

    def __init__(self, supervisor: Supervisor, directory: Path, api: httpx.Client, env: dict, eventually) -> None:
        self.supervisor, self.api, self.env, self.eventually = supervisor, api, env, eventually
        self.url = str(api.base_url).rstrip("/")
        self.probe = Probe(directory)
        self.home = directory / "state" / "prefect"
        self.deployment_file = directory / "prefect.yaml"

    def held_run(self) -> Beat:
        """A run of the probe that has started and waits at the closed gate."""
        self.probe.gate.touch()
        return self.eventually(self._waiting)

    def _waiting(self) -> Beat | None:
        ended = {beat.id for beat in self.probe.beats("ended")}
        beats = [beat for beat in self.probe.beats("started") if beat.id not in ended]
        return next((beat for beat in beats if psutil.pid_exists(beat.pid)), None)

    def kill(self, *parts: str) -> None:
        for part in parts:
            os.kill(self.supervisor.status().part(part).pid, signal.SIGKILL)

    def run(self, run_id: str) -> SimpleNamespace:
        return SimpleNamespace(**self.api.get(f"/flow_runs/{run_id}").raise_for_status().json()["state"])

    def deployment(self, name: str, flow: str = "probe") -> dict:
        return self.api.get(f"/deployments/name/{flow}/{name}").raise_for_status().json()

    def runs_on_after(self, beat: Beat, within: float) -> Beat:
        """Open the gate and wait until another run has gone through."""
        self.probe.gate.unlink(missing_ok=True)
        before = {b.id for b in self.probe.beats("ended")} | {beat.id}
        return self.eventually(
            lambda: next((b for b in self.probe.beats("ended") if b.id not in before), None), within=within
        )

    def settle(self) -> None:
        """Gate open and every part up, for whoever comes next."""
        self.probe.gate.unlink(missing_ok=True)
        up = {Phase.READY, Phase.DONE}
        self.eventually(lambda: all(part.phase in up for part in self.supervisor.status().parts))


@pytest.fixture(scope="session")
def make_stack(tmp_path_factory, eventually):
    """Start a stack with the probe deployed each 6 s and, as `idle`, hardly ever, beside the reaper.

    `without` leaves parts out.
    """
    running = []

    def make(*without: str) -> Stack:
        directory = tmp_path_factory.mktemp("stack")
        seldom = timedelta(days=300)
        rows = [Probe(directory).mission("probe", PROBE_EVERY), Probe(directory).mission("idle", seldom)]
        rows += [replace(mission, every=seldom) for mission in MISSIONS]
        (directory / "prefect.yaml").write_text(render(rows))
        all_parts, env = stack_parts(directory)
        supervisor = Supervisor([p for p in all_parts if p.name not in without], directory / "state")
        supervisor.start()
        api = httpx.Client(base_url=env["PREFECT_API_URL"], timeout=30, transport=PatientTransport())
        running.append((supervisor, api))
        return Stack(supervisor, directory, api, env, eventually)

    yield make
    for supervisor, api in running:
        api.close()
        supervisor.stop()


def stack_parts(directory: Path) -> tuple[list[Part], dict[str, str]]:
    """State, queues and orchestration as `mos up` starts them, without workers; and the environment of runs."""
    state = directory / "state"
    firestore, aws, prefect = free_port(), free_port(), free_port()
    addresses = {
        "FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{firestore}",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws}",
        "PREFECT_API_URL": f"http://127.0.0.1:{prefect}/api",
    }
    env = local.environment(local.StackOptions(state_dir=state), addresses)
    state.mkdir()
    base = [local._firestore(state, firestore), local._aws(aws, env), local._configuration(env)]
    file = directory / "prefect.yaml"
    orchestration = parts(
        state, port=prefect, env=env, fast=False, depends_on=["configuration"], deployment_file=file, project=PROJECT
    )
    return base + orchestration, env


@pytest.fixture(scope="session")
def session_stack(make_stack):
    return make_stack()


@pytest.fixture
def stack(session_stack):
    """The stack of all tests, given back with everything up."""
    yield session_stack
    session_stack.settle()
