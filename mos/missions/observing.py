"""Reading what is due, page by page, so that documents nobody can read never hide the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import StateStoreError
from mos.domain.findings import FindingCode, Sighting
from mos.store.documents import D, UnreadableRecord, read
from mos.store.queries import Query

MAX_PAGES = 10
Snapshot = firestore.DocumentSnapshot[Any]


@dataclass(frozen=True)
class Stored(Generic[D]):
    """A document with the time of its last write, which fences what rests on it."""

    document: D
    update_time: datetime


@dataclass
class Found(Generic[D]):
    """What a query gave: the documents, and those that could not be understood."""

    stored: list[Stored[D]] = field(default_factory=list)
    unreadable: list[Sighting] = field(default_factory=list)
    more: bool = False
    """There is more of it than was asked for."""
    hidden: bool = False
    """The pages were used up by documents that cannot be used; others may stand behind them."""

    @property
    def documents(self) -> tuple[D, ...]:
        return tuple(one.document for one in self.stored)


def unreadable(error: UnreadableRecord) -> Sighting:
    """A document that does not validate, as people see it."""
    return Sighting(FindingCode.UNREADABLE_RECORD, error.path, {"problem": error.problem})


def find(
    client: firestore.Client,
    query: Query,
    kind: type[D],
    *,
    refuse: Callable[[D], str | None] = lambda _: None,
) -> Found[D]:
    """Up to the query's limit of documents that can be used, in its order; others are passed over and listed.

    `refuse` says why a document is not the asker's, if so: that is listed like one that cannot be read.

    Raises:
        StateStoreError: the store could not be asked.
    """
    found: Found[D] = Found()
    limit = query.limit or 0
    pages = 0
    for page in _pages(client, query):
        pages += 1
        for snapshot in page:
            _take(snapshot, kind, refuse, found)
        found.more = len(page) >= limit
        if not found.more or len(found.stored) >= limit:
            break
    found.hidden = pages == MAX_PAGES and found.more and len(found.stored) < limit
    found.more |= len(found.stored) > limit
    del found.stored[limit:]
    return found


def read_all(client: firestore.Client, query: Query) -> list[Snapshot]:
    """The snapshots of a bounded query.

    Raises:
        StateStoreError: the store could not be asked.
    """
    return _page(query, query.on(client))


def _pages(client: firestore.Client, query: Query) -> Iterator[list[Snapshot]]:
    bound: Any = query.on(client)
    for _ in range(MAX_PAGES):
        page = _page(query, bound)
        yield page
        if not page:
            return
        bound = query.on(client).start_after(page[-1])


def _page(query: Query, bound: Any) -> list[Snapshot]:
    try:
        return list(bound.stream())
    except (google.GoogleAPICallError, google.RetryError) as error:
        raise StateStoreError(f"{query.name} of {query.collection} cannot be read: {error}") from error


def _take(snapshot: Snapshot, kind: type[D], refuse: Callable[[D], str | None], found: Found[D]) -> None:
    try:
        document = read(kind, snapshot)
    except UnreadableRecord as error:
        found.unreadable.append(unreadable(error))
        return
    if document is None:
        return
    problem = refuse(document)
    if problem is None:
        found.stored.append(Stored(document, snapshot.update_time))
    else:
        found.unreadable.append(unreadable(UnreadableRecord(snapshot.reference.path, problem)))
