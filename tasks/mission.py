"""One run of any mission: observe, decide, act, report, each a Prefect task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from prefect import task
from prefect.artifacts import acreate_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from mos import logs
from mos.domain.errors import AppError
from mos.missions.base import Mission, Report

Value = TypeVar("Value")

READ_DEADLINE = timedelta(seconds=30)
ACT_DEADLINE = timedelta(seconds=120)
"""Three reads and the acts are together under the flow's deadline, so that the step that hangs is named."""
NOTHING_DUE = [{"seen": "nothing was due"}]


@task(name="step", cache_policy=NO_CACHE, tags=["mission"])
async def _step(work: Callable[[], Value]) -> Value:
    """Do the work in a thread: the run's heartbeat goes on meanwhile.

    It takes a callable, not the mission and its documents, because Prefect
    would search those through for futures.
    """
    return await asyncio.to_thread(work)


observe = _step.with_options(name="observe", timeout_seconds=READ_DEADLINE.total_seconds())
decide = _step.with_options(name="decide", timeout_seconds=READ_DEADLINE.total_seconds())
act = _step.with_options(name="act", timeout_seconds=ACT_DEADLINE.total_seconds())
report = _step.with_options(name="report", timeout_seconds=READ_DEADLINE.total_seconds())


async def run_mission(make: Callable[[str], Mission], *, dry_run: bool) -> State[Any]:
    """Run the mission that `make` gives for this run's id; the state in which the flow's run ends.

    A late run that another one has overtaken ends as Completed(SkippedStale). A dry run stops before acting. Failed
    if a pass failed, after all others were done and reported, or with the sentence of the error that stopped it.
    """
    run_id = str(flow_run.id)
    with logs.bound(mission_run=run_id):
        try:
            return await _run(make(run_id), dry_run=dry_run)
        except AppError as error:
            return Failed(message=error.message)


async def _run(mission: Mission, *, dry_run: bool) -> State[Any]:
    if await asyncio.to_thread(mission.superseded, flow_run.scheduled_start_time):
        return Completed(name="SkippedStale", message="another run began after this one was due")
    if not dry_run:
        await asyncio.to_thread(mission.started)
    return await _tick(mission, dry_run=dry_run)


async def _tick(mission: Mission, *, dry_run: bool) -> State[Any]:
    plan = await decide(partial(mission.decide, await observe(mission.observe)))
    if dry_run:
        await _show(mission, plan.rows(), f"dry run: {len(plan.acts)} acts planned, nothing written")
        return Completed(name="DryRun", message=f"{len(plan.acts)} acts planned, nothing written")
    results = await act(partial(mission.act, plan))
    done: Report = await report(partial(mission.report, plan, results))
    await _show(mission, done.rows(), done.summary)
    if done.failed_passes:
        return Failed(message=f"failed: {', '.join(done.failed_passes)}; all else was done. {done.summary}")
    return Completed(message=done.summary)


async def _show(mission: Mission, rows: list[dict[str, str]], summary: str) -> None:
    await acreate_table_artifact(key=mission.name, table=rows or NOTHING_DUE, description=summary)
