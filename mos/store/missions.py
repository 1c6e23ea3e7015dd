"""`infraStatus/missions`: one heartbeat per mission, so that a dead healer is seen from outside (§3.10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError

PATH = "infraStatus/missions"
MAX_RESULT = 500


@dataclass(frozen=True)
class Heartbeat:
    """When a mission last began and ended, by the store's clock."""

    last_started_at: datetime | None = None
    last_finished_at: datetime | None = None
    last_result: str = ""
    started_run: str = ""


def read_heartbeats(client: firestore.Client) -> dict[str, Heartbeat]:
    """All heartbeats, by mission.

    Raises:
        StateStoreError: they cannot be read.
    """
    try:
        snapshot = client.document(PATH).get()
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"{PATH} cannot be read: {error}") from error
    found = (snapshot.to_dict() or {}) if snapshot.exists else {}
    return {name: _heartbeat(beat) for name, beat in found.items() if isinstance(beat, dict)}


def stamp_started(client: firestore.Client, mission: str, run_id: str) -> None:
    """The run begins.

    Raises:
        StateStoreError: not written.
    """
    _merge(client, mission, {"lastStartedAt": firestore.SERVER_TIMESTAMP, "startedRun": run_id})


def stamp_finished(client: firestore.Client, mission: str, run_id: str, result: str) -> None:
    """The run has ended; `result` says how in a line.

    Raises:
        StateStoreError: not written.
    """
    beat = {"lastFinishedAt": firestore.SERVER_TIMESTAMP, "finishedRun": run_id, "lastResult": result[:MAX_RESULT]}
    _merge(client, mission, beat)


def _merge(client: firestore.Client, mission: str, beat: dict[str, Any]) -> None:
    try:
        client.document(PATH).set({mission: beat}, merge=True)
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"the heartbeat of {mission} cannot be written: {error}") from error


def _heartbeat(beat: dict[str, Any]) -> Heartbeat:
    started, finished = beat.get("lastStartedAt"), beat.get("lastFinishedAt")
    return Heartbeat(
        last_started_at=started if isinstance(started, datetime) else None,
        last_finished_at=finished if isinstance(finished, datetime) else None,
        last_result=str(beat.get("lastResult", "")),
        started_run=str(beat.get("startedRun", "")),
    )
