"""Pools of documents with sorted indexes that come into being when queries have paid for them.

A pool is one collection, or one collection group. The first queries of a shape sort the matching documents on
the spot; once that work adds up, the index is kept and every later query costs only what it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mos.local.firestore.mutation import Doc
from mos.local.firestore.scan import Spec
from mos.local.firestore.sortedkeys import SortedKeys

KEEP_AFTER = 256
"""Documents sorted on the spot for one shape of query before its index is kept."""
MAX_INDEXES = 64
"""Indexes kept per pool; the least recently used goes first."""

Entries = Iterator[tuple[bytes, Doc]]


class Pool:
    """The documents of one collection or collection group, and their indexes."""

    def __init__(self) -> None:
        self.indexes: dict[Spec, SortedKeys[Doc]] = {}
        self._work: dict[Spec, int] = {}

    def documents(self) -> Iterable[Doc]:
        """All documents of the pool."""
        raise NotImplementedError

    def scan(self, spec: Spec, low: bytes, high: bytes) -> Entries:
        """Entries of the index `spec` with keys in `[low, high)`, in order."""
        index = self._index(spec)
        if index is not None:
            return index.scan(low, high)
        return self._sorted_now(spec, low, high)

    def count(self, spec: Spec, low: bytes, high: bytes) -> int:
        """How many entries a scan would give."""
        index = self._index(spec)
        if index is not None:
            return index.count(low, high)
        return sum(1 for _ in self._sorted_now(spec, low, high))

    def _index(self, spec: Spec) -> SortedKeys[Doc] | None:
        index = self.indexes.pop(spec, None)
        if index is not None:
            self.indexes[spec] = index
        return index

    def _sorted_now(self, spec: Spec, low: bytes, high: bytes) -> Entries:
        pairs = [(key, doc) for doc in self.documents() for key in spec.entries(doc, _parsed(spec, doc))]
        self._work[spec] = self._work.get(spec, 0) + len(pairs)
        if self._work[spec] < KEEP_AFTER:
            return iter(sorted((pair for pair in pairs if low <= pair[0] < high), key=_key))
        del self._work[spec]
        self._keep(spec, SortedKeys(pairs))
        return self.indexes[spec].scan(low, high)

    def _keep(self, spec: Spec, index: SortedKeys[Doc]) -> None:
        self.indexes[spec] = index
        while len(self.indexes) > MAX_INDEXES:
            del self.indexes[next(iter(self.indexes))]

    def update(self, before: Doc | None, after: Doc | None, old: Any, new: Any) -> None:
        """Bring the indexes up to date; `old` and `new` are the parsed versions."""
        for spec, index in self.indexes.items():
            gone = spec.entries(before, old) if before else []
            come = spec.entries(after, new) if after else []
            for key in gone:
                if key not in come:
                    index.remove(key)
            if after is not None:
                for key in come:
                    index.put(key, after)


class Collection(Pool):
    """One collection: its documents by name."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: SortedKeys[Doc] = SortedKeys()

    def documents(self) -> Iterable[Doc]:
        """All documents, by name."""
        return (doc for _, doc in self.by_name.scan())

    def _index(self, spec: Spec) -> SortedKeys[Doc] | None:
        by_name = spec.only_names and not spec.orders[0].descending
        return self.by_name if by_name else super()._index(spec)


class Group(Pool):
    """All collections of one id in a database."""

    def __init__(self) -> None:
        super().__init__()
        self.collections: dict[str, Collection] = {}

    def documents(self) -> Iterable[Doc]:
        """All documents of all collections of the group."""
        return (doc for collection in self.collections.values() for doc in collection.documents())


class Union(Group):
    """A passing pool over many collections of any id (recursive and kindless queries)."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        super().__init__()
        self._members = list(collections)

    def documents(self) -> Iterable[Doc]:
        """All documents of the given collections."""
        return (doc for collection in self._members for doc in collection.documents())


def _parsed(spec: Spec, doc: Doc) -> Any:
    return None if spec.only_names else doc.parsed()


def _key(pair: tuple[bytes, Doc]) -> bytes:
    return pair[0]
