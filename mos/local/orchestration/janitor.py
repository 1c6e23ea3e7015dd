"""The slot janitor: `python -m mos.local.orchestration.janitor`.

When a run is killed together with its worker, Prefect believes it Running
until the engine's lease is over (up to 276 s), and the deployment's limit of one
cancels every run until then. The janitor, itself under no limit, looks whether
such a run still has a process on this machine and marks it Crashed if not:
that frees the slot within seconds.
"""

from __future__ import annotations

import os
import sys
import time

import httpx
import psutil

from mos.local.orchestration.condemn import Missing, Patience, Run, RunState, condemned, still_missing

_RUN_VARIABLE = "PREFECT__FLOW_RUN_ID"
_PAUSE = 1.0
_PAGE = 200


class Janitor:
    """Looks at the runs of one Prefect API whose processes are on this machine."""

    def __init__(self, api: httpx.Client, patience: Patience) -> None:
        self._api = api
        self._patience = patience
        self._missing: dict[str, Missing] = {}

    def look(self, now: float) -> dict[str, str]:
        """One round at `now` (monotonic seconds). Returns the runs it marked Crashed, by id, with the reason.

        Raises httpx.HTTPError if the API is down or refuses.
        """
        runs = holders(self._api)
        alive = runs_with_a_process() if runs else frozenset()
        self._missing = still_missing(runs, alive=alive, before=self._missing, now=now)
        dead = condemned(self._missing, now=now, patience=self._patience)
        for id_, reason in dead.items():
            crash(self._api, id_, reason)
        return dead


def holders(api: httpx.Client) -> list[Run]:
    """The deployed runs that hold a slot, oldest first."""
    wanted = {
        "flow_runs": {
            "state": {"type": {"any_": [str(state) for state in RunState]}},
            "deployment_id": {"is_null_": False},
        },
        "sort": "EXPECTED_START_TIME_ASC",
        "limit": _PAGE,
    }
    answer = api.post("/flow_runs/filter", json=wanted).raise_for_status()
    return [Run(id=run["id"], name=run["name"], state=RunState(run["state_type"])) for run in answer.json()]


def crash(api: httpx.Client, run_id: str, reason: str) -> None:
    """Mark a run Crashed, which frees its slot."""
    state = {"type": "CRASHED", "name": "Crashed", "message": reason}
    api.post(f"/flow_runs/{run_id}/set_state", json={"state": state, "force": True}).raise_for_status()


def runs_with_a_process() -> frozenset[str]:
    """The ids of the runs that some process on this machine works on: Prefect leaves the id in its environment."""
    return frozenset(id_ for process in psutil.process_iter() if (id_ := _run_of(process)))


def _run_of(process: psutil.Process) -> str | None:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process.environ().get(_RUN_VARIABLE)
    except (psutil.Error, OSError):
        return None  # gone meanwhile, or another user's: not one of ours


def main() -> None:
    """Look again and again; what was done and what failed goes to standard output."""
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        sys.exit("set PREFECT_API_URL to the address of the Prefect API")
    with httpx.Client(base_url=url, timeout=10) as api:
        janitor = Janitor(api, Patience())
        sys.stdout.write("slot janitor ready\n")
        while True:
            _round(janitor)
            time.sleep(_PAUSE)


def _round(janitor: Janitor) -> None:
    try:
        for id_, reason in janitor.look(time.monotonic()).items():
            sys.stdout.write(f"run {id_} marked Crashed: {reason}\n")
    except httpx.HTTPError as error:
        # A server that is down comes back: the supervisor sees to that.
        sys.stdout.write(f"could not look: {error!r}\n")


if __name__ == "__main__":
    main()
