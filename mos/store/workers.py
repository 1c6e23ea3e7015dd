"""`workers/{workerId}`: how the others know that a process lives, or that it said it would stop (§2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.model import WorkerRecord
from mos.store.documents import COLLECTION

TIMEOUT = 5.0
"""Seconds for each call: liveness must not hold anything up."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a worker is. `host` and `pid` are for people only; the id is a boot id."""

    worker_id: str
    version: str
    host: str
    pid: int
    steps: tuple[str, ...]


class Liveness:
    """The record of one process. Every write holds all required fields, so that a lost record comes back whole."""

    def __init__(self, client: firestore.Client, identity: Identity) -> None:
        self._reference = client.collection(COLLECTION[WorkerRecord]).document(identity.worker_id)
        self._identity = identity
        self._started_at: Any = firestore.SERVER_TIMESTAMP

    def start(self) -> None:
        """Announce the process.

        Raises:
            StateStoreError: the store could not be reached.
        """
        self._started_at = self._write(in_flight=0)

    def beat(self, in_flight: int, handled: Mapping[str, int]) -> None:
        """Say that it lives. `handled`: how many deliveries ended in which way, for people.

        Raises:
            StateStoreError: the store could not be reached; the next beat says it again.
        """
        self._write(in_flight=in_flight, handled=dict(handled))

    def stop(self, reason: str, in_flight: int) -> None:
        """Say that it stops: whoever finds its leases need not wait for them, and counts no reap (law 9).

        Raises:
            StateStoreError: the store could not be reached; the leases will run out.
        """
        self._write(in_flight=in_flight, stoppedAt=firestore.SERVER_TIMESTAMP, stopReason=reason)

    def _write(self, *, in_flight: int, **more: Any) -> Any:
        who = self._identity
        fields = {
            "startedAt": self._started_at,
            "heartbeatAt": firestore.SERVER_TIMESTAMP,
            "inFlight": in_flight,
            "version": who.version,
            "host": who.host,
            "pid": who.pid,
            "steps": list(who.steps),
            **more,
        }
        try:
            return self._reference.set(fields, merge=True, timeout=TIMEOUT, retry=None).update_time
        except (google.GoogleAPICallError, google.RetryError) as error:
            raise StateStoreError(f"workers/{who.worker_id} could not be written: {error}") from error
