"""The work pool that the deployments name."""

from __future__ import annotations

from prefect.client.orchestration import PrefectClient
from prefect.exceptions import ObjectNotFound

from mos.domain.errors import AppError


async def require_pool(client: PrefectClient, name: str) -> None:
    """Raise AppError if there is no such pool: a deployment into it would stop at the first mission."""
    try:
        await client.read_work_pool(name)
    except ObjectNotFound as error:
        raise AppError(f"the work pool {name} does not exist; create it first, or correct MISSION_POOL") from error
