"""The work pool that the deployments name."""

from __future__ import annotations

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.workers.process import ProcessWorker

from mos.domain.errors import AppError


async def ensure_process_pool(client: PrefectClient, name: str) -> None:
    """Make a pool whose runs are processes beside their worker, unless there is one of this name."""
    template = ProcessWorker.get_default_base_job_template()
    try:
        await client.create_work_pool(WorkPoolCreate(name=name, type=ProcessWorker.type, base_job_template=template))
    except ObjectAlreadyExists:
        return


async def require_pool(client: PrefectClient, name: str) -> None:
    """Raise AppError if there is no such pool: a deployment into it would stop at the first mission."""
    try:
        await client.read_work_pool(name)
    except ObjectNotFound as error:
        raise AppError(f"the work pool {name} does not exist; create it first, or correct MISSION_POOL") from error
