"""The outbox of notifications (§1.6): written with the failing commit, sent by the reaper, at least once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.clients.notifier import Notifier
from mos.domain.errors import StateStoreError
from mos.missions.acting import carry_out
from mos.missions.base import ActResult, Outcome
from mos.missions.observing import read_all
from mos.runtime import Runtime
from mos.store.queries import unsent_notifications

Entry = firestore.DocumentSnapshot[Any]


def send_notifications(
    client: firestore.Client, notifier: Notifier, now: datetime, runtime: Runtime
) -> list[ActResult]:
    """Send what waits; what could not be sent stays for the next tick.

    Raises:
        StateStoreError: the outbox cannot be read.
    """
    entries = read_all(client, unsent_notifications(now))
    return carry_out(entries, lambda entry: _send(notifier, entry), _describe, runtime, width=1)


def _describe(entry: Entry) -> tuple[str, str, str]:
    fields = entry.to_dict() or {}
    return "notify", entry.id, f"job {fields.get('jobId')} failed: {fields.get('class')} ({fields.get('code')})"


def _send(notifier: Notifier, entry: Entry) -> ActResult:
    kind, subject, text = _describe(entry)
    fields = entry.to_dict() or {}
    facts = {name: fields.get(name) for name in ("jobId", "message", "correlationId")}
    notifier.notify(severity=str(fields.get("severity", "warning")), text=text, facts=facts)
    try:
        entry.reference.update({"send.state": "sent", "send.at": firestore.SERVER_TIMESTAMP})
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"sent, but {subject} could not be marked; it is sent again: {error}") from error
    return ActResult(kind, subject, text, Outcome.DONE)
