"""Closing what a worker reported and could not take back, because it was killed before it came to it (§3.11)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.findings import FindingCode
from mos.domain.model import Document, Job, Task, TaskStatus, WorkerRecord
from mos.store import findings
from mos.store.documents import COLLECTION, UnreadableRecord, read

BY_WORKER = "worker"
"""Who says `LONG_RUNNING`, and `UNREADABLE_RECORD` of what a message led to."""
KINDS: dict[str, type[Document]] = {COLLECTION[kind]: kind for kind in (Task, Job, WorkerRecord)}
Snapshot = firestore.DocumentSnapshot[Any]


def close_outdated(client: firestore.Client, now: datetime) -> int:
    """Close the open findings of workers whose subject shows that they are over. How many.

    With nothing open it costs one read.

    Raises:
        StateStoreError: the store could not be asked, or not all were closed.
    """
    try:
        reported = {snapshot.id: snapshot.to_dict() or {} for snapshot in findings.still_open(client, BY_WORKER)}
        paths = {name: str(found.get("subject", "")) for name, found in reported.items()}
        known = {name: path for name, path in paths.items() if path.count("/") == 1 and path.split("/")[0] in KINDS}
        subjects = _read(client, sorted(set(known.values())))
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"the findings of workers cannot be read: {error}") from error
    over = [name for name, path in known.items() if _over(reported[name], subjects[path])]
    findings.close(client, over, now=now)
    return len(over)


def _read(client: firestore.Client, paths: list[str]) -> dict[str, Snapshot]:
    references = [client.document(path) for path in paths]
    return {snapshot.reference.path: snapshot for snapshot in client.get_all(references)} if references else {}


def _over(finding: dict[str, Any], subject: Snapshot) -> bool:
    if finding.get("code") == FindingCode.LONG_RUNNING:
        return not _runs_under(subject.to_dict() or {}, finding.get("passId"))
    return finding.get("code") == FindingCode.UNREADABLE_RECORD and _validates(subject)


def _runs_under(task: dict[str, Any], token: object) -> bool:
    """The pass that reports a long step is the lease under which it runs."""
    lease = task.get("lease")
    return task.get("status") == TaskStatus.RUNNING and isinstance(lease, dict) and lease.get("token") == token


def _validates(subject: Snapshot) -> bool:
    try:
        read(KINDS[subject.reference.path.split("/")[0]], subject)
    except UnreadableRecord:
        return False
    return True
