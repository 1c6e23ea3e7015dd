"""The outbox of notifications (§1.6): written with the failing commit, sent by the reaper, at least once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.clients.notifier import Notifier
from mos.domain.errors import AppError, StateStoreError
from mos.missions.base import ActResult, Outcome
from mos.missions.observing import read_all
from mos.store.queries import unsent_notifications


def send_notifications(client: firestore.Client, notifier: Notifier, now: datetime) -> list[ActResult]:
    """Send what waits; what could not be sent stays for the next tick.

    Raises:
        StateStoreError: the outbox cannot be read.
    """
    return [_send(notifier, snapshot) for snapshot in read_all(client, unsent_notifications(now))]


def _send(notifier: Notifier, snapshot: firestore.DocumentSnapshot) -> ActResult:  # type: ignore[type-arg]
    fields: dict[str, Any] = snapshot.to_dict() or {}
    text = f"job {fields.get('jobId')} failed: {fields.get('class')} ({fields.get('code')})"
    try:
        facts = {name: fields.get(name) for name in ("jobId", "message", "correlationId")}
        notifier.notify(severity=str(fields.get("severity", "warning")), text=text, facts=facts)
        _mark(snapshot)
    except AppError as error:
        return ActResult("notify", snapshot.id, text, Outcome.FAILED, error.message)
    return ActResult("notify", snapshot.id, text, Outcome.DONE)


def _mark(snapshot: firestore.DocumentSnapshot) -> None:  # type: ignore[type-arg]
    try:
        snapshot.reference.update({"send.state": "sent", "send.at": firestore.SERVER_TIMESTAMP})
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"sent, but {snapshot.id} could not be marked: {error}") from error
