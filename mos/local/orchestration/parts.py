"""The parts of the orchestration: server, then the pool, then deployment, worker and janitor side by side."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import mos
from mos.local.orchestration.database import prepare_database
from mos.local.orchestration.pool import POOL
from mos.local.supervisor import Finishes, HttpAnswers, LogLine, Part

Environment = Mapping[str, str | None]
_API = ("prefect-server", "prefect-pool")
_HOST = "127.0.0.1"
_PREFECT = [sys.executable, "-m", "prefect"]
_SERVER = {
    # With leases in memory, the death of the server kills every mission whose slot was held, silently and for ever.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
}
_CLIENT = {
    "DO_NOT_TRACK": "1",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_WORKER_QUERY_SECONDS": "2",
    # A run holds its slot from the moment it is fetched: no longer than its process needs to start.
    "PREFECT_WORKER_PREFETCH_SECONDS": "4",
}


def parts(
    state_dir: Path,
    *,
    port: int,
    env: Mapping[str, str],
    fast: bool,
    depends_on: Sequence[str] = (),
    deployment_file: Path | None = None,
    project: Path | None = None,
) -> list[Part]:
    """Prefect's server, the deployment of all missions, a process worker, and the janitor.

    `port` is the server's on loopback; `env` is what runs get; `fast` deploys
    in the demo's rhythm. `depends_on` is what must be up before the first run.
    `project` holds `flows/` and `deployments/` (default: where this package was
    installed from), `deployment_file` its `prefect.yaml`. Makes the server's
    database at once, so that the start needs no migrations.
    """
    root = project or Path(mos.__file__).parent.parent
    home = state_dir.resolve() / "prefect"
    prepare_database(home)
    shared = {**_without_foreign_settings(), **env, **_CLIENT, **_addresses(port, home)}
    missions = {
        "MISSION_DIR": str(root),
        "MISSION_POOL": POOL,
        "MISSION_ENV": "local",
        "MISSION_PYTHON": sys.executable,
        "MISSION_VERSION": version("mos-self-healing"),
    }
    deploy = [sys.executable, "-m", "deployments.apply"]
    deploy += ["--file", str(deployment_file)] if deployment_file else ["--pace", "demo" if fast else "file"]
    return [
        _server(port, {**shared, **_SERVER}),
        _pool(shared),
        _deploy(deploy, {**shared, **missions}, root),
        _worker(shared, [*depends_on, *_API], root),
        _janitor(shared),
    ]


def _without_foreign_settings() -> dict[str, str | None]:
    """Remove the user's own Prefect settings: his database, his Cloud account and his key are not this stack's."""
    return {name: None for name in os.environ if name.startswith("PREFECT_")}


def _addresses(port: int, home: Path) -> dict[str, str]:
    return {"PREFECT_API_URL": f"http://{_HOST}:{port}/api", "PREFECT_HOME": str(home)}


def _server(port: int, env: Environment) -> Part:
    return Part(
        name="prefect-server",
        argv=[*_PREFECT, "server", "start", "--host", _HOST, "--port", str(port)],
        ready=HttpAnswers(f"http://{_HOST}:{port}/api/health"),
        env=env,
        address=f"http://{_HOST}:{port}",
        start_timeout=120,
    )


def _pool(env: Environment) -> Part:
    argv = [sys.executable, "-m", "mos.local.orchestration.pool"]
    return Part(name="prefect-pool", argv=argv, ready=Finishes(), env=env, depends_on=["prefect-server"])


def _deploy(argv: Sequence[str], env: Environment, root: Path) -> Part:
    return Part(
        name="prefect-deploy",
        argv=argv,
        ready=Finishes(),
        env=env,
        cwd=root,
        depends_on=_API,
        start_timeout=120,
    )


def _worker(env: Environment, depends_on: Sequence[str], root: Path) -> Part:
    argv = [*_PREFECT, "worker", "start", "--pool", POOL, "--type", "process", "--name", "local"]
    return Part(
        name="prefect-worker",
        argv=argv,
        ready=LogLine(r"Worker '.*' started!"),
        env=env,
        cwd=root,
        depends_on=depends_on,
        start_timeout=120,
    )


def _janitor(env: Environment) -> Part:
    return Part(
        name="slot-janitor",
        argv=[sys.executable, "-m", "mos.local.orchestration.janitor"],
        ready=LogLine("^slot janitor ready"),
        env=env,
        depends_on=_API,
    )
