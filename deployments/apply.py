"""Deploys the missions: `python -m deployments.apply [--file prefect.yaml] [--pace demo]`.

Checks the variables, makes sure of the work pool and the automations, and then
leaves the deployment file to `prefect deploy --all`. Doing it again changes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx

from deployments.environment import require_variables
from deployments.generate import LOCAL, PREFECT_FILE, demo, render
from deployments.registry import MISSIONS
from mos.domain.errors import AppError, SettingsError

_UNREACHABLE, _WRONG_SETTING = 69, 64


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its failures are one sentence on standard error and the exit code 64 or 69."""
    options = _parser().parse_args(arguments)
    try:
        apply(options.file, fast=options.pace == "demo")
    except SettingsError as error:
        return _say(error, _WRONG_SETTING)
    except AppError as error:
        return _say(error, _UNREACHABLE)
    return 0


def apply(file: Path, *, fast: bool = False) -> None:
    """Deploy `file`, or with `fast` the registry in the demo's rhythm.

    Raises:
        SettingsError: the file or a variable is missing, or the server keeps its leases in memory.
        AppError: the server or the pool cannot be reached, or refused a deployment.
    """
    text = render(MISSIONS, LOCAL, pace=demo) if fast else _read(file)
    require_variables(text, os.environ)
    asyncio.run(_prepare())
    with tempfile.TemporaryDirectory() as scratch:
        deployed = Path(scratch) / PREFECT_FILE
        deployed.write_text(text, encoding="utf-8")
        _prefect_deploy(deployed)


async def _prepare() -> None:
    from prefect.client.orchestration import get_client

    from deployments.automations import apply_automations
    from deployments.leases import require_durable_leases
    from deployments.pool import require_pool

    try:
        async with get_client() as client:
            await require_durable_leases(client)
            await apply_automations(client)
            await require_pool(client, os.environ["MISSION_POOL"])
    except httpx.TransportError as error:
        raise AppError(f"no Prefect API answers at {os.environ['PREFECT_API_URL']}; start it first") from error


def _prefect_deploy(file: Path) -> None:
    """Prefect's own command, in this process: importing Prefect a second time would cost three seconds."""
    from prefect.cli import app

    sys.argv = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    try:
        app()
    except SystemExit as ended:
        if ended.code:
            raise AppError("Prefect refused a deployment; its reason stands above") from ended


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot read {file} ({error.strerror}); run this in the project's directory") from error


def _say(error: AppError, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deployments.apply", description="Deploy the missions to Prefect.")
    parser.add_argument("--file", type=Path, default=PREFECT_FILE, help="the deployment file (default: %(default)s)")
    parser.add_argument("--pace", choices=["file", "demo"], default="file", help="demo: the registry, in seconds")
    return parser


if __name__ == "__main__":
    sys.exit(main())
