"""Leaving a task to its driver until later: only `checkAt` moves, so that it does not head the query."""

from __future__ import annotations

from datetime import datetime

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.model import Task
from mos.store.documents import COLLECTION


def rearm(client: firestore.Client, task_id: str, *, seen_at: datetime, until: datetime) -> bool:
    """Move `checkAt` to `until`; False when the task was written since `seen_at`, its last write that was seen.

    It changes no status and no right, so it needs no log entry; a lost answer
    looks like a change by somebody else, which is true enough.

    Raises:
        StateStoreError: it could not be written.
    """
    reference = client.collection(COLLECTION[Task]).document(task_id)
    try:
        reference.update({"checkAt": until}, option=client.write_option(last_update_time=seen_at))
    except (google.FailedPrecondition, google.NotFound, google.Aborted):
        return False
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"task {task_id} cannot be left until later: {error}") from error
    return True
