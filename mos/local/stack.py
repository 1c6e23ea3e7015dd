"""The local stack (§5.2): which processes, in which order, with which environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mos.local import orchestration
from mos.local.supervisor import Finishes, LogLine, Part, StackError, Supervisor, free_port, require_port, running
from mos.settings import read_settings

PROJECT = "mos-local"
BUCKET = "mos-media"
REGION = "us-east-1"
DEMO_SCALE = 1 / 60


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """What a person may choose. A port of 0 is a free one."""

    state_dir: Path
    time_scale: float = 1.0
    workers: int = 2
    prefect_port: int = 0
    step_seconds: float = 0.0
    """How long the steps pretend to work (the demo needs time to strike)."""

    @property
    def fast(self) -> bool:
        """Whether missions run in the demo's rhythm."""
        return self.time_scale < 1


def build_supervisor(options: StackOptions) -> Supervisor:
    """The supervisor of one local stack.

    Raises:
        StackError: a port that was asked for is taken.
        SettingsError: a setting in the environment is wrong.
    """
    state = options.state_dir.resolve()
    state.mkdir(parents=True, exist_ok=True)
    firestore, aws = free_port(), free_port()
    prefect = require_port(options.prefect_port) if options.prefect_port else free_port()
    addresses = {
        "FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{firestore}",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{aws}",
        "PREFECT_API_URL": f"http://127.0.0.1:{prefect}/api",
    }
    env = environment(options, addresses)
    read_settings({**os.environ, **env})  # a bad setting is the person's mistake: say so before anything starts
    parts = [_firestore(state, firestore), _aws(aws, env), _configuration(env)]
    parts += orchestration.parts(state, port=prefect, env=env, fast=options.fast, depends_on=["aws", "configuration"])
    parts += [_worker(f"worker-{number}", env) for number in range(1, options.workers + 1)]
    return Supervisor(parts, state, addresses=env)


def environment(options: StackOptions, addresses: Mapping[str, str]) -> dict[str, str]:
    """What every process of the stack gets beside its own environment."""
    local = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "MOS_PROJECT": PROJECT,
        "MOS_BUCKET": BUCKET,
        "MOS_TIME_SCALE": repr(options.time_scale),
        "MOS_SCRATCH": str(options.state_dir.resolve() / "scratch"),
        "SQS_LONG_POLL_SECONDS": "2",
        "WORKER_STEP_SECONDS": repr(options.step_seconds),
    }
    return {**addresses, **local}


def connect(state_dir: Path) -> dict[str, str]:
    """Point this process at the running stack; the variables that were set.

    Outside a stack (the variables are set already, as in production) nothing is touched.

    Raises:
        StackError: no stack runs here and no other system is configured.
    """
    record = running(state_dir)
    if record is not None:
        os.environ.update(record.addresses)
        return dict(record.addresses)
    if "FIRESTORE_EMULATOR_HOST" in os.environ or "GOOGLE_APPLICATION_CREDENTIALS" in os.environ:
        return {}
    raise StackError(f"no stack is running in {state_dir}; start one with: mos up --detach")


def _firestore(state: Path, port: int) -> Part:
    argv = [sys.executable, "-m", "mos.local.firestore", "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--data", str(state / "firestore.sqlite"), "--project", PROJECT]
    indexes = Path("firestore.indexes.json")
    if indexes.exists():
        argv += ["--indexes", str(indexes.resolve())]
    return Part(name="firestore", argv=argv, ready=LogLine(r"^firestore ready"), address=f"127.0.0.1:{port}")


def _aws(port: int, env: Mapping[str, str]) -> Part:
    return Part(
        name="aws",
        argv=[sys.executable, "-m", "mos.local.provision", "aws", "127.0.0.1", str(port)],
        ready=LogLine(r"^aws ready"),
        env=env,
        address=f"http://127.0.0.1:{port}",
    )


def _configuration(env: Mapping[str, str]) -> Part:
    return Part(
        name="configuration",
        argv=[sys.executable, "-m", "mos.local.provision", "state"],
        ready=Finishes(),
        env=env,
        depends_on=["firestore"],
    )


def _worker(name: str, env: Mapping[str, str]) -> Part:
    return Part(
        name=name,
        argv=[sys.executable, "-m", "mos.workers"],
        ready=LogLine(r"^worker ready"),
        env=env,
        depends_on=["aws", "configuration"],
        stop_timeout=30,
    )


__all__ = ["DEMO_SCALE", "StackOptions", "build_supervisor", "connect", "environment"]
