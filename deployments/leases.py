"""A Prefect server must not forget who holds a slot."""

from __future__ import annotations

from http import HTTPStatus

from prefect.client.orchestration import PrefectClient
from prefect.exceptions import PrefectHTTPStatusError

from mos.domain.errors import AppError, SettingsError

SETTING = "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"
DURABLE = "prefect.server.concurrency.lease_storage.filesystem"


async def require_durable_leases(client: PrefectClient) -> None:
    """Raise SettingsError if a restart of the server would forget who holds a slot: the mission would be dead for ever.

    Prefect Cloud has no such setting (404) and no such problem.
    """
    try:
        answer = await client.request("GET", "/admin/settings")
    except PrefectHTTPStatusError as error:
        if error.response.status_code == HTTPStatus.NOT_FOUND:
            return
        raise AppError(f"the Prefect API refused to tell its settings ({error.response.status_code})") from error
    storage = answer.json()["server"]["concurrency"]["lease_storage"]
    if storage.endswith(".memory"):
        raise SettingsError(
            f"the Prefect server keeps its leases in memory; start it with {SETTING}={DURABLE}",
            details={"field": SETTING},
        )
