"""A mission of the tests: it notes each start and end of a run in a journal, and waits at a gate in between."""

import asyncio
import os
from pathlib import Path

from prefect import flow
from prefect.runtime import flow_run

POLL_SECONDS = 0.05


@flow(name="probe", timeout_seconds=230)
async def probe(journal: str, gate: str, *, dry_run: bool = False) -> None:
    """Hold the deployment's slot for as long as the file `gate` exists."""
    _note(journal, "started")
    while _closed(gate):  # noqa: ASYNC110 - another process opens it
        await asyncio.sleep(POLL_SECONDS)
    _note(journal, "ended")


def _closed(gate: str) -> bool:
    return Path(gate).exists()


def _note(journal: str, word: str) -> None:
    with Path(journal).open("a") as file:
        file.write(f"{word} {flow_run.id} {os.getpid()}\n")
