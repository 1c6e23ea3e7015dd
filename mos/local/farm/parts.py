"""The farm as parts of the local stack: one server, some workers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mos.local.farm.behaviour import VARIABLE
from mos.local.supervisor import HttpAnswers, LogLine, Part

SECRET = "local-farm"  # noqa: S105 - the farm listens on loopback only
SECRET_VARIABLE = "NEXRENDER_SECRET"  # noqa: S105 - a variable's name
SERVER = "farm-server"


@dataclass(frozen=True, kw_only=True)
class FarmOptions:
    """`state` is the stack's folder; `workers` are the names of the hosts, as nexrender reports them (`executor`)."""

    state: Path
    port: int
    workers: Sequence[str] = ("i-local-1",)
    polling_ms: int = 500
    env: Mapping[str, str] = field(default_factory=dict)
    depends_on: Sequence[str] = ()

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def script(self) -> Path:
        """The folder that directs the stand-in After Effects."""
        return self.state / "farm" / "script"

    @property
    def database(self) -> Path:
        """The file that holds every job of the server."""
        return self.state / "farm" / "database.json"

    @property
    def addresses(self) -> dict[str, str]:
        """What the processes that talk to the farm need in their environment."""
        return {"NEXRENDER_URL": self.url, SECRET_VARIABLE: SECRET}


def parts(options: FarmOptions) -> list[Part]:
    """The server and the workers; the first start on a machine installs the npm packages."""
    return [_server(options), *(_worker(options, name) for name in options.workers)]


def _server(options: FarmOptions) -> Part:
    return Part(
        name=SERVER,
        argv=[*_COMMAND, "server", "--port", str(options.port), "--database", str(options.database)],
        ready=HttpAnswers(f"{options.url}/api/v1/health"),
        env={**options.env, SECRET_VARIABLE: SECRET},
        depends_on=tuple(options.depends_on),
        address=options.url,
        start_timeout=300,
    )


def _worker(options: FarmOptions, name: str) -> Part:
    work = options.state / "farm" / "hosts" / name
    return Part(
        name=f"render-{name.lower()}",
        argv=[
            *_COMMAND, "worker", "--server", options.url, "--name", name, "--work", str(work),
            "--polling-ms", str(options.polling_ms),
        ],
        ready=LogLine(r"^farm worker ready"),
        env={**options.env, SECRET_VARIABLE: SECRET, VARIABLE: str(options.script)},
        depends_on=(SERVER,),
    )  # fmt: skip


_COMMAND = (sys.executable, "-m", "mos.local.farm")
