"""Reading what is due, page by page, so that documents nobody can read never hide the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.model import Task, TaskStatus
from mos.domain.transitions import By
from mos.store.documents import UnreadableRecord, read
from mos.store.queries import Query, tasks_due
from mos.store.rearming import SeenTask

MAX_PAGES = 10


@dataclass
class Due:
    """The due tasks of one status, and the documents that could not be read."""

    seen: list[SeenTask] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(seen.task for seen in self.seen)


def due_tasks(client: firestore.Client, by: By, status: TaskStatus, now: datetime, page: int) -> Due:
    """Up to `page` readable tasks, oldest first.

    Raises:
        StateStoreError: the store could not be asked.
    """
    due = Due()
    query: firestore.Query = tasks_due(by, status, now, page).on(client)
    for _ in range(MAX_PAGES):
        snapshots = _page(query)
        for snapshot in snapshots:
            _take(snapshot, due)
        if len(snapshots) < page or len(due.seen) >= page:
            break
        query = tasks_due(by, status, now, page).on(client).start_after(snapshots[-1])
    del due.seen[page:]
    return due


def read_all(client: firestore.Client, query: Query) -> list[firestore.DocumentSnapshot]:  # type: ignore[type-arg]
    """The snapshots of a bounded query.

    Raises:
        StateStoreError: the store could not be asked.
    """
    return _page(query.on(client))


def _page(query: firestore.Query) -> list[firestore.DocumentSnapshot]:  # type: ignore[type-arg]
    try:
        return list(query.stream())
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"the due tasks cannot be read: {error}") from error


def _take(snapshot: firestore.DocumentSnapshot, due: Due) -> None:  # type: ignore[type-arg]
    try:
        task = read(Task, snapshot)
    except UnreadableRecord as error:
        due.unreadable.append((error.path, error.problem))
        return
    if task is not None:
        due.seen.append(SeenTask(task, snapshot.update_time))
