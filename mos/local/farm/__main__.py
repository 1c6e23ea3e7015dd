"""`python -m mos.local.farm install | server --port N --database FILE | worker --server URL --name HOST --work DIR`.

Server and worker replace this process by node, so that a signal for the part
reaches nexrender itself. The secret comes from NEXRENDER_SECRET.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from mos.local.farm import node
from mos.local.farm.install import install
from mos.local.farm.parts import SECRET, SECRET_VARIABLE
from mos.local.supervisor.errors import StackError

_HERE = Path(__file__).parent


def main() -> int:
    """Read the arguments and become the process that was asked for."""
    options = _arguments().parse_args()
    try:
        modules = install()
        match options.command:
            case "server":
                _server(options, modules)
            case "worker":
                _worker(options, modules)
    except StackError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"the render farm is installed in {modules.parent}\n")
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mos.local.farm", description="nexrender on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install", help="install the npm packages, once for this machine")
    server = commands.add_parser("server", help="run nexrender-server on 127.0.0.1")
    server.add_argument("--port", type=int, required=True)
    server.add_argument("--database", type=Path, required=True, help="the file that keeps the jobs")
    worker = commands.add_parser("worker", help="run one render host's worker")
    worker.add_argument("--server", required=True, help="the server's address")
    worker.add_argument("--name", required=True, help="the host's id, as it appears in `executor`")
    worker.add_argument("--work", type=Path, required=True, help="the host's folder")
    worker.add_argument("--polling-ms", type=int, default=500)
    return parser


def _server(options: argparse.Namespace, modules: Path) -> NoReturn:
    options.database.parent.mkdir(parents=True, exist_ok=True)
    script = modules / "@nexrender" / "server" / "src" / "bin.js"
    argv = ["-r", str(_HERE / "loopback.cjs"), str(script), "--port", str(options.port), f"--secret={_secret()}"]
    _become(argv, modules, {"NEXRENDER_DATABASE": str(options.database.resolve())})


def _worker(options: argparse.Namespace, modules: Path) -> NoReturn:
    settings = {
        "FARM_SERVER_URL": options.server,
        "FARM_WORKER_NAME": options.name,
        "FARM_AERENDER": str(_after_effects(options.work.resolve())),
        "FARM_WORKPATH": str(options.work.resolve() / "work"),
        "FARM_POLLING_MS": str(options.polling_ms),
        SECRET_VARIABLE: _secret(),
        # the deprecation notice that every render would print otherwise; the log stays where it is
        "NEXRENDER_ENABLE_AELOG_LEGACY_TEMP_FOLDER": "true",
    }
    _become([str(_HERE / "worker.cjs")], modules, settings)


def _after_effects(host: Path) -> Path:
    """What nexrender takes for an installation of After Effects: the program and the script that it patches."""
    folder = host / "after-effects"
    startup = folder / "Scripts" / "Startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "commandLineRenderer.jsx").touch()
    program = folder / "aerender"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mos.local.farm.aerender "$@"\n')
    program.chmod(0o755)
    return program


def _secret() -> str:
    return os.environ.get(SECRET_VARIABLE) or SECRET


def _become(argv: list[str], modules: Path, extra: dict[str, str]) -> NoReturn:
    program = str(node.node())
    sys.stdout.flush()
    os.execve(program, [program, *argv], node.environment(modules, extra))  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    sys.exit(main())
