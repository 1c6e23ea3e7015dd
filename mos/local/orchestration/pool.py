"""Makes the process pool: `python -m mos.local.orchestration.pool`.

A step of its own, without Prefect's slow import: worker and deployment both
need the pool, and can then start side by side.
"""

from __future__ import annotations

import os
import sys
from http import HTTPStatus

import httpx

POOL = "local"
_KIND = "process"


def ensure_pool(api: httpx.Client, name: str = POOL) -> None:
    """Make the pool, with Prefect's own template for process workers, unless it exists.

    Raises httpx.HTTPError if the API is down or refuses.
    """
    kinds = api.get("/collections/views/aggregate-worker-metadata").raise_for_status().json()
    template = kinds["prefect"][_KIND]["default_base_job_configuration"]
    answer = api.post("/work_pools/", json={"name": name, "type": _KIND, "base_job_template": template})
    if answer.status_code != HTTPStatus.CONFLICT:
        answer.raise_for_status()


def main() -> None:
    """The step."""
    try:
        with httpx.Client(base_url=os.environ["PREFECT_API_URL"], timeout=30) as api:
            ensure_pool(api)
    except httpx.HTTPError as error:
        sys.exit(f"the Prefect API did not make the work pool: {error}")


if __name__ == "__main__":
    main()
