"""The reaper's flow: lost tasks are sent again (specification §3.2)."""

from __future__ import annotations

from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State
from pydantic import Field

from mos import bootstrap, logs
from mos.domain.reaping import ReaperLimits
from mos.missions.base import Mission
from tasks.mission import run_mission

DEADLINE_SECONDS = 230
"""Before Prefect's engine has to renew its slot for the first time (225 to 240 s)."""


@flow(name="reaper", timeout_seconds=DEADLINE_SECONDS, retries=0)
async def reaper(
    *,
    dry_run: bool = False,
    max_acts: Annotated[int, Field(ge=1, le=2000)] = 50,
    page: Annotated[int, Field(ge=1, le=300)] = 300,
) -> State[Any]:
    """Send lost tasks again.

    `dry_run` shows the plan and writes nothing at all. `max_acts` bounds the
    tasks that one run changes, `page` the documents that it reads per status.
    """

    def make(run_id: str) -> Mission:
        logs.configure("reaper")
        limits = ReaperLimits(max_acts=max_acts, page=page)
        return bootstrap.from_environment().reaper(limits, mission_run=run_id)

    return await run_mission(make, dry_run=dry_run)
