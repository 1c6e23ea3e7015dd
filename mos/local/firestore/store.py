"""All documents in memory: current versions, history, and the answer to queries now or at an earlier time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

from mos.local.firestore.errors import failed_precondition
from mos.local.firestore.history import History
from mos.local.firestore.mutation import Doc
from mos.local.firestore.names import collection_id_of, collection_of
from mos.local.firestore.pools import Collection, Group, Pool, Union
from mos.local.firestore.query import Query, Scope
from mos.local.firestore.scan import Range, filtered, ranges
from mos.local.firestore.sortedkeys import SortedKeys

ROOT_SLASHES = 4


class Change(NamedTuple):
    """One document before and after a commit (None = absent)."""

    name: str
    before: Doc | None
    after: Doc | None


def root_of(name: str) -> str:
    """`projects/{p}/databases/{d}/documents` of any name below it."""
    return "/".join(name.split("/", 5)[:5])


class Store:
    """The versions and indexes. Not thread-safe: the engine holds its lock around every call."""

    def __init__(self, history: History | None = None) -> None:
        self.docs: dict[str, Doc] = {}
        self.history = history or History()
        self.collections: dict[str, Collection] = {}
        self._groups: dict[tuple[str, str], Group] = {}

    def load(self, docs: Iterable[Doc]) -> None:
        """Fill an empty store."""
        by_collection: dict[str, list[Doc]] = {}
        for doc in docs:
            self.docs[doc.name] = doc
            by_collection.setdefault(collection_of(doc.name), []).append(doc)
        for name, members in by_collection.items():
            self._collection(name).by_name = SortedKeys((doc.key, doc) for doc in members)

    def _collection(self, name: str) -> Collection:
        collection = self.collections.get(name)
        if collection is None:
            collection = self.collections[name] = Collection()
            self._group(root_of(name), name.rpartition("/")[2]).collections[name] = collection
        return collection

    def _group(self, root: str, collection_id: str) -> Group:
        return self._groups.setdefault((root, collection_id), Group())

    def apply(self, changes: Iterable[Change], at: int) -> None:
        """Make a commit's changes current at time `at`."""
        for change in changes:
            self.history.add(change.name, change.before, at)
            self._place(change)
        self.history.prune(at)

    def _place(self, change: Change) -> None:
        name, before, after = change
        home = collection_of(name)
        collection = self._collection(home)
        group = self._group(root_of(home), collection_id_of(name))
        if after is None:
            del self.docs[name]
            collection.by_name.remove(before.key) if before else None
        else:
            self.docs[name] = after
            collection.by_name.put(after.key, after)
        if collection.indexes or group.indexes:
            old, new = before and before.parsed(), after and after.parsed()
            collection.update(before, after, old, new)
            group.update(before, after, old, new)
        if not collection.by_name:
            del self.collections[home], group.collections[home]

    def at(self, name: str, time: int | None) -> Doc | None:
        """A document now, or as it was at a time.

        Raises:
            Refused: FAILED_PRECONDITION where that time is no longer kept.
        """
        current = self.docs.get(name)
        if time is None:
            return current
        self.check_time(time)
        return self.history.at(name, current, time)

    def check_time(self, time: int) -> None:
        """Refuse read times that the bounded history no longer covers."""
        if time < self.history.horizon:
            raise failed_precondition("The requested 'read_time' is too old.")

    def run(self, query: Query, time: int | None = None) -> Iterator[Doc]:
        """The documents that answer a query, in order, behind offset and up to the limit."""
        matching = self._matching(query, time)
        stop = None if query.limit is None else query.offset + query.limit
        return islice(matching, query.offset, stop)

    def _matching(self, query: Query, time: int | None) -> Iterator[Doc]:
        pool = self._pool(query.scope)
        scans = [self._scan(pool, query, scan, time) for scan in ranges(query) if not scan.is_empty]
        last = None
        for key, doc in merge(*scans, key=_order_key) if len(scans) > 1 else iter(scans[0] if scans else ()):
            if key != last:
                yield doc
            last = key

    def _scan(self, pool: Pool, query: Query, scan: Range, time: int | None) -> Iterator[tuple[bytes, Doc]]:
        found = pool.scan(scan.spec, scan.low, scan.high)
        if query.scope.deep and not _is_root(query.scope.parent):
            found = ((key, doc) for key, doc in found if query.scope.holds(doc.name))
        if time is not None:
            found = self._as_of(found, query.scope, scan, time)
        return filtered(found, scan)

    def _as_of(
        self, found: Iterator[tuple[bytes, Doc]], scope: Scope, scan: Range, time: int
    ) -> Iterator[tuple[bytes, Doc]]:
        """The same scan at an earlier time: what changed since is left out and its old version put in."""
        self.check_time(time)
        changed = {name for name in self.history.since(time) if scope.holds(name)}
        if not changed:
            return found
        earlier = [doc for name in changed if (doc := self.at(name, time)) is not None]
        pairs = ((key, doc) for doc in earlier for key in scan.spec.entries(doc, doc.parsed()))
        old = sorted((pair for pair in pairs if scan.low <= pair[0] < scan.high), key=_order_key)
        kept = ((key, doc) for key, doc in found if doc.name not in changed)
        return merge(kept, old, key=_order_key)

    def _pool(self, scope: Scope) -> Pool:
        if scope.collection_id is not None and not scope.deep:
            return self.collections.get(f"{scope.parent}/{scope.collection_id}") or Collection()
        if scope.collection_id is not None:
            return self._group(root_of(scope.parent), scope.collection_id)
        depth = scope.parent.count("/") + 1
        members = (
            (name, collection) for name, collection in self.collections.items() if name.startswith(f"{scope.parent}/")
        )
        return Union(collection for name, collection in members if scope.deep or name.count("/") == depth)

    def collection_names(self, time: int | None = None) -> set[str]:
        """The collections that hold documents, now or at a time."""
        if time is None:
            return set(self.collections)
        self.check_time(time)
        earlier = {collection_of(name) for name in self.history.since(time) if self.at(name, time) is not None}
        lasting = (
            name
            for name, collection in self.collections.items()
            if any(self.at(doc.name, time) is not None for doc in collection.documents())
        )
        return earlier.union(lasting)

    def count(self, query: Query, time: int | None = None, up_to: int | None = None) -> int:
        """How many documents answer a query; from the index alone where that is possible."""
        limits = [limit for limit in (query.limit, up_to) if limit is not None]
        scans = [scan for scan in ranges(query) if not scan.is_empty]
        simple = len(scans) == 1 and not scans[0].residual and time is None
        if simple and (not query.scope.deep or _is_root(query.scope.parent)):
            (scan,) = scans
            total = max(0, self._pool(query.scope).count(scan.spec, scan.low, scan.high) - query.offset)
            return min([total, *limits])
        found: Iterable[Doc] = self.run(query, time)
        return sum(1 for _ in (found if up_to is None else islice(found, up_to)))


def _is_root(parent: str) -> bool:
    return parent.count("/") == ROOT_SLASHES


def _order_key(pair: tuple[bytes, Doc]) -> bytes:
    return pair[0]
