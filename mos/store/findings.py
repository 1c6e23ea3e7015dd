"""`findings/{code:subject}`: the one upsert through which everybody reports (§3.11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.findings import Sighting
from mos.store.documents import encode
from mos.store.queries import open_findings

COLLECTION = "findings"
BATCH = 400
"""Documents in one commit: the service takes 500."""
Found = firestore.DocumentSnapshot[Any]


def report(
    client: firestore.Client,
    sightings: Sequence[Sighting],
    *,
    seen_by: str,
    pass_id: str,
    now: datetime,
    complete: bool = False,
) -> int:
    """Open or refresh what was seen; a `complete` pass closes what it no longer sees. How many were closed.

    A finding counts once for each pass, so that saying it again changes nothing.
    What nobody looks at again before its `until` is not closed before then, and
    neither is what a run that began later saw.

    Raises:
        StateStoreError: not all of it was written; the next pass says it again.
    """
    try:
        known = _known(client, sightings)
        writes = [
            (sighting.id, _seen(sighting, known.get(sighting.id), seen_by, pass_id, now)) for sighting in sightings
        ]
        gone = _gone(client, {sighting.id for sighting in sightings}, seen_by, now) if complete else []
        writes += [(name, _closed(now)) for name in gone]
        for start in range(0, len(writes), BATCH):
            batch = client.batch()
            for name, fields in writes[start : start + BATCH]:
                # field by field, so that evidence is replaced as a whole and a person's dismissal stays
                batch.set(client.collection(COLLECTION).document(name), fields, merge=sorted(fields))
            batch.commit()
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"findings cannot be written: {error}") from error
    return len(gone)


def close(client: firestore.Client, names: Iterable[str], *, now: datetime) -> None:
    """Close findings whose subject is done, by id. One that is not there stays absent.

    Raises:
        StateStoreError: not closed.
    """
    for name in names:
        try:
            client.collection(COLLECTION).document(name).update(_closed(now))
        except google.NotFound:
            continue
        except (google.GoogleAPICallError, google.RetryError) as error:
            raise StateStoreError(f"finding {name} cannot be closed: {error}") from error


def still_open(client: firestore.Client, seen_by: str) -> Iterator[Found]:
    """Everything that `seen_by` has open, page by page.

    Raises:
        google.GoogleAPICallError: the store could not be asked.
    """
    declared = open_findings(seen_by)
    query: Any = declared.on(client)
    while True:
        page = list(query.stream())
        yield from page
        if declared.limit is None or len(page) < declared.limit:
            return
        query = declared.on(client).start_after(page[-1])


def _known(client: firestore.Client, sightings: Sequence[Sighting]) -> dict[str, dict[str, Any]]:
    if not sightings:
        return {}
    references = [client.collection(COLLECTION).document(sighting.id) for sighting in sightings]
    return {snapshot.id: snapshot.to_dict() or {} for snapshot in client.get_all(references) if snapshot.exists}


def _gone(client: firestore.Client, seen: set[str], seen_by: str, now: datetime) -> list[str]:
    return [
        snapshot.id
        for snapshot in still_open(client, seen_by)
        if snapshot.id not in seen and not _later(snapshot, "until", now) and not _later(snapshot, "lastSeen", now)
    ]


def _later(snapshot: Found, field: str, now: datetime) -> bool:
    stamp = (snapshot.to_dict() or {}).get(field)
    return isinstance(stamp, datetime) and stamp > now


def _seen(
    sighting: Sighting, known: dict[str, Any] | None, seen_by: str, pass_id: str, now: datetime
) -> dict[str, Any]:
    stands = known or {}
    fresh = not stands.get("open") or not isinstance(stands.get("firstSeen"), datetime)
    counted = stands.get("occurrences")
    counted = counted if isinstance(counted, int) else 0
    fields: dict[str, Any] = {
        "code": sighting.code,
        "severity": sighting.severity,
        "subject": sighting.subject,
        "evidence": sighting.evidence,
        "lastSeen": now,
        "occurrences": counted if stands.get("passId") == pass_id else counted + 1,
        "seenBy": seen_by,
        "passId": pass_id,
        "open": True,
        "until": sighting.until or firestore.DELETE_FIELD,
        "closedAt": firestore.DELETE_FIELD,
    }
    if fresh:
        fields["firstSeen"] = now
    return {name: encode(value) for name, value in fields.items()}


def _closed(now: datetime) -> dict[str, Any]:
    return {"open": False, "closedAt": now}
