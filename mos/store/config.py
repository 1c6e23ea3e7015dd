"""`config/production` and `config/dispatch`, and the time that a mission's first read gives (law 8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.runtime import Runtime
from mos.store import transactions
from mos.store.documents import LOG, LOG_KEPT, UnreadableRecord

PRODUCTION = "config/production"
DISPATCH = "config/dispatch"
DEFAULT_JOBS = 4


@dataclass(frozen=True)
class Production:
    """`config/production` as of `now`, the store's own clock."""

    now: datetime
    paused: bool
    max_concurrent_jobs: int
    problem: UnreadableRecord | None = None
    """Why the document was not understood: then nothing starts, and recovery goes on."""


def read_production(client: firestore.Client) -> Production:
    """The configuration and the time. A missing document means: not paused, four jobs at once.

    One that does not validate counts as paused: it never keeps recovery from its time.

    Raises:
        StateStoreError: it cannot be read.
    """
    try:
        snapshot = client.document(PRODUCTION).get()
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"{PRODUCTION} cannot be read: {error}") from error
    try:
        paused, jobs = parse_production((snapshot.to_dict() or {}) if snapshot.exists else {})
    except UnreadableRecord as problem:
        return Production(snapshot.read_time, paused=True, max_concurrent_jobs=0, problem=problem)
    return Production(snapshot.read_time, paused, jobs)


def parse_production(fields: dict[str, Any]) -> tuple[bool, int]:
    """(paused, maxConcurrentJobs). What is not clearly "go" is not guessed at.

    Raises:
        UnreadableRecord: a field has the wrong type.
    """
    paused, jobs = fields.get("paused", False), fields.get("maxConcurrentJobs", DEFAULT_JOBS)
    if not isinstance(paused, bool):
        raise UnreadableRecord(PRODUCTION, "paused: true or false is needed")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 0:
        raise UnreadableRecord(PRODUCTION, "maxConcurrentJobs: a whole number of at least 0 is needed")
    return paused, jobs


def take_epoch(client: firestore.Client, runtime: Runtime) -> int:
    """The next dispatch epoch: from now on, the transactions of earlier runs refuse (§3.9).

    Raises:
        StateStoreError, UnknownOutcome: not taken, or perhaps; the run ends and the next one takes another.
        UnreadableRecord: what stands there is no number; nothing is guessed.
    """
    witness = client.collection(LOG).document(runtime.new_id())

    def body(transaction: firestore.Transaction, number: int) -> tuple[int, bool]:
        reference = client.document(DISPATCH)
        snapshot = next(iter(transaction.get(reference)))
        stands = (snapshot.to_dict() or {}).get("epoch", 0) if snapshot.exists else 0
        if isinstance(stands, bool) or not isinstance(stands, int):
            raise UnreadableRecord(DISPATCH, "epoch: a whole number is needed")
        epoch = stands + 1
        transaction.set(reference, {"epoch": epoch}, merge=True)
        entry = {"by": "dispatch", "act": "take_epoch", "changes": [], "epoch": epoch, "try": number}
        now = snapshot.read_time
        transaction.create(witness, entry | {"at": now, "expireAt": now + LOG_KEPT})
        return epoch, True

    return transactions.run(client, body, witness=witness, runtime=runtime).value
