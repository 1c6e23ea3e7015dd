"""Which composite indexes exist, and which queries production would refuse without one.

Rules of Firestore: single-field indexes are automatic (in collection scope, both directions, and array elements);
equalities and array-contains merge from them; an order or a range together with anything on another field needs a
composite index, and so does everything on a collection group that no field override serves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mos.local.firestore import fields as field_paths
from mos.local.firestore.errors import failed_precondition
from mos.local.firestore.fields import NAME, FieldPath
from mos.local.firestore.filters import Disjunct, Op
from mos.local.firestore.query import Order, Query

COLLECTION, GROUP = "COLLECTION", "COLLECTION_GROUP"
CONTAINS = "CONTAINS"


class IndexFileError(Exception):
    """The file of index definitions cannot be read; the text says what to do."""


class IndexedField(NamedTuple):
    """A field of an index and how it is indexed: ASCENDING, DESCENDING or CONTAINS."""

    path: FieldPath
    mode: str


class Composite(NamedTuple):
    """A declared composite index."""

    collection_id: str
    scope: str
    fields: tuple[IndexedField, ...]


class Need(NamedTuple):
    """What one disjunct asks of an index: fields compared for equality (in any order), then an exact order."""

    collection_id: str
    scope: str
    equal: frozenset[IndexedField]
    ordered: tuple[IndexedField, ...]


@dataclass(frozen=True, slots=True)
class CompositeIndexes:
    """The declared indexes of a database."""

    composites: tuple[Composite, ...] = ()
    overrides: dict[tuple[str, FieldPath], frozenset[tuple[str, str]]] = field(default_factory=dict)

    def check(self, query: Query) -> None:
        """Refuse a query that no index serves.

        Raises:
            Refused: FAILED_PRECONDITION that prints the index to add.
        """
        if query.scope.collection_id is None:
            return
        for disjunct in query.disjuncts:
            need = need_of(query, disjunct)
            if not self._serves(need):
                raise failed_precondition(
                    "The query requires an index. You can create it here: add this to firestore.indexes.json: "
                    + definition(need)
                )

    def _serves(self, need: Need) -> bool:
        if _single(need):
            return all(self._has_single(need, item) for item in (*need.equal, *need.ordered))
        return self._merged(need)

    def _has_single(self, need: Need, item: IndexedField) -> bool:
        if item.path == NAME:
            return True
        override = self.overrides.get((need.collection_id, item.path), self.overrides.get((need.collection_id, ("*",))))
        if override is None:
            return need.scope == COLLECTION
        modes = {mode for scope, mode in override if scope == need.scope}
        return item.mode in modes or (item.mode != CONTAINS and bool(modes - {CONTAINS}))

    def _merged(self, need: Need) -> bool:
        """Whether composites whose order is the wanted one together lead with every equality field."""
        tails = {need.ordered, tuple(IndexedField(path, _opposite(mode)) for path, mode in need.ordered)}
        wanted = {_undirected(item) for item in need.equal}
        covered: set[IndexedField] = set()
        found = False
        for index in self.composites:
            head = _head(index, need, tails, wanted)
            if head is not None:
                covered |= head
                found = True
        return found and covered == wanted


def _head(
    index: Composite, need: Need, tails: set[tuple[IndexedField, ...]], wanted: set[IndexedField]
) -> set[IndexedField] | None:
    """The equality fields that an index leads with, if it fits the need."""
    if (index.collection_id, index.scope) != (need.collection_id, need.scope):
        return None
    fields = _with_name(index.fields)
    cut = len(fields) - len(need.ordered)
    head = {_undirected(item) for item in fields[:cut]}
    return head if cut >= 0 and fields[cut:] in tails and head <= wanted else None


def _with_name(fields: tuple[IndexedField, ...]) -> tuple[IndexedField, ...]:
    """An index ends with the document name, in the direction of its last field."""
    if fields[-1].path == NAME:
        return fields
    mode = fields[-1].mode if fields[-1].mode != CONTAINS else "ASCENDING"
    return (*fields, IndexedField(NAME, mode))


def _undirected(item: IndexedField) -> IndexedField:
    return item if item.mode == CONTAINS else IndexedField(item.path, "ASCENDING")


def _opposite(mode: str) -> str:
    return "DESCENDING" if mode == "ASCENDING" else "ASCENDING"


def _single(need: Need) -> bool:
    """Whether single-field indexes serve it, alone or merged."""
    by_value = [item for item in need.ordered if item.path != NAME]
    if not by_value:
        return True
    return not need.equal and len(by_value) == 1 and need.ordered[-1].mode == by_value[0].mode


def need_of(query: Query, disjunct: Disjunct) -> Need:
    """What a disjunct of a query asks of an index."""
    equal = {
        IndexedField(item.field, CONTAINS if item.op is Op.HAS else "ASCENDING")
        for item in disjunct
        if item.op in {Op.EQUAL, Op.HAS} and item.field != NAME
    }
    fixed = {item.path for item in equal if item.mode != CONTAINS}
    ordered = tuple(_indexed(order) for order in query.orders if order.field not in fixed)
    scope = GROUP if query.scope.deep else COLLECTION
    return Need(str(query.scope.collection_id), scope, frozenset(equal), ordered)


def _indexed(order: Order) -> IndexedField:
    return IndexedField(order.field, "DESCENDING" if order.descending else "ASCENDING")


def definition(need: Need) -> str:
    """The entry of `firestore.indexes.json` that serves a need, as JSON."""
    if _single(need):
        return _override(need)
    ordered = list(need.ordered)
    before = ordered[-2].mode if len(ordered) > 1 else "ASCENDING"
    if ordered[-1] == IndexedField(NAME, before):
        ordered.pop()
    fields = [_as_json(item) for item in (*sorted(need.equal), *ordered)]
    return json.dumps({"collectionGroup": need.collection_id, "queryScope": need.scope, "fields": fields})


def _override(need: Need) -> str:
    wanted = [item for item in (*sorted(need.equal), *need.ordered) if item.path != NAME]
    overrides = [
        {
            "collectionGroup": need.collection_id,
            "fieldPath": field_paths.render(item.path),
            "indexes": [{**_mode_as_json(item), "queryScope": need.scope}],
        }
        for item in wanted
    ]
    return "fieldOverrides: " + ", ".join(json.dumps(override) for override in overrides)


def _as_json(item: IndexedField) -> dict[str, str]:
    return {"fieldPath": field_paths.render(item.path), **_mode_as_json(item)}


def _mode_as_json(item: IndexedField) -> dict[str, str]:
    return {"arrayConfig": CONTAINS} if item.mode == CONTAINS else {"order": item.mode}


def load(path: Path) -> CompositeIndexes:
    """Read a `firestore.indexes.json`.

    Raises:
        IndexFileError: it cannot be read or is no such file.
    """
    try:
        content = json.loads(path.read_text())
        return parse(content.get("indexes", ()), content.get("fieldOverrides", ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise IndexFileError(
            f"{path} cannot be read as firestore.indexes.json ({error}): correct or omit it."
        ) from error


def parse(indexes: Iterable[dict[str, Any]], overrides: Iterable[dict[str, Any]] = ()) -> CompositeIndexes:
    """Indexes from the entries of a `firestore.indexes.json`."""
    composites = tuple(
        Composite(entry["collectionGroup"], entry.get("queryScope", COLLECTION), _fields(entry["fields"]))
        for entry in indexes
    )
    singles = {
        (entry["collectionGroup"], ("*",) if entry["fieldPath"] == "*" else field_paths.parse(entry["fieldPath"])): (
            frozenset((item.get("queryScope", COLLECTION), _mode(item)) for item in entry.get("indexes", ()))
        )
        for entry in overrides
    }
    return CompositeIndexes(composites, singles)


def _fields(entries: Sequence[dict[str, Any]]) -> tuple[IndexedField, ...]:
    return tuple(IndexedField(field_paths.parse(entry["fieldPath"]), _mode(entry)) for entry in entries)


def _mode(entry: dict[str, Any]) -> str:
    return str(entry.get("arrayConfig") or entry["order"])
