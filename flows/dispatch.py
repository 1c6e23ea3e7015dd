"""Dispatch's flow: pending jobs start as slots become free (specification §3.9)."""

from __future__ import annotations

from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State
from pydantic import Field

from mos import bootstrap, logs
from mos.missions.base import Mission
from tasks.mission import run_mission

DEADLINE_SECONDS = 230
"""Before Prefect's engine has to renew its slot for the first time (225 to 240 s)."""


@flow(name="dispatch", timeout_seconds=DEADLINE_SECONDS, retries=0)
async def dispatch(
    *,
    dry_run: bool = False,
    max_starts: Annotated[int, Field(ge=1, le=500)] = 50,
) -> State[Any]:
    """Start pending jobs, oldest first, and cancel what cancelled jobs left open.

    `dry_run` shows the plan and writes nothing at all. `max_starts` bounds the
    jobs that one run starts; the free slots bound them further.
    """

    def make(run_id: str) -> Mission:
        logs.configure("dispatch")
        return bootstrap.from_environment().dispatch(max_starts, mission_run=run_id)

    return await run_mission(make, dry_run=dry_run)
