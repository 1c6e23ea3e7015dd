"""A StructuredQuery, checked and normalised: scope, disjuncts, total order, cursors, limits, projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mos.local.firestore import encoding
from mos.local.firestore import fields as field_paths
from mos.local.firestore.errors import failed_precondition, invalid, unimplemented
from mos.local.firestore.fields import NAME, FieldPath
from mos.local.firestore.filters import INEQUALITIES, Disjunct, flatten, name_operand
from mos.local.firestore.names import check_collection_id

DESCENDING = 2
MAX_ORDERS = 100


class Order(NamedTuple):
    """One field of the sort order."""

    field: FieldPath
    descending: bool


class Scope(NamedTuple):
    """Where a query looks: below `parent`, in one collection id (None = any), at any depth if `deep`."""

    parent: str
    collection_id: str | None
    deep: bool

    def holds(self, name: str) -> bool:
        """Whether a document of this resource name is in scope."""
        parent, _, collection_id = name.rpartition("/")[0].rpartition("/")
        if self.collection_id is not None and collection_id != self.collection_id:
            return False
        return parent == self.parent or (self.deep and name.startswith(f"{self.parent}/"))


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked. `orders` always ends with `__name__`; `low` and `high` bound the order key."""

    scope: Scope
    disjuncts: tuple[Disjunct, ...]
    orders: tuple[Order, ...]
    low: bytes
    high: bytes
    offset: int
    limit: int | None
    projection: tuple[FieldPath, ...] | None
    explicit_name: bool = False

    @property
    def keys_only(self) -> bool:
        """Whether nothing but names was asked for."""
        return self.projection == ()


def parse(parent: str, structured: Any) -> Query:
    """Check a query and normalise it.

    Raises:
        Refused: INVALID_ARGUMENT with the rule it breaks; UNIMPLEMENTED for vector search.
    """
    if structured.HasField("find_nearest"):
        raise unimplemented("Vector search (find_nearest) is not part of this local server.")
    scope = _scope(parent, structured)
    disjuncts = flatten(structured.where, parent) if structured.HasField("where") else ((),)
    orders = _orders(structured, disjuncts)
    check_key_scan(disjuncts, orders)
    _check_deep(scope, disjuncts, orders)
    low, high = _cursors(structured, orders, scope)
    if structured.offset < 0 or structured.limit.value < 0:
        raise invalid("Limit and offset cannot be negative.")
    return Query(
        scope=scope,
        disjuncts=disjuncts,
        orders=orders,
        low=low,
        high=high,
        offset=structured.offset,
        limit=structured.limit.value if structured.HasField("limit") else None,
        projection=_projection(structured),
        explicit_name=any(order.field.field_path == "__name__" for order in structured.order_by),
    )


def _scope(parent: str, structured: Any) -> Scope:
    selectors = list(structured.from_)
    if len(selectors) > 1:
        raise invalid("A query can look in one collection selector only.")
    if not selectors:
        return Scope(parent, None, deep=True)
    selector = selectors[0]
    check_collection_id(selector.collection_id)
    if not selector.collection_id and not selector.all_descendants:
        return Scope(parent, None, deep=False)
    return Scope(parent, selector.collection_id or None, deep=selector.all_descendants)


def _projection(structured: Any) -> tuple[FieldPath, ...] | None:
    if not structured.HasField("select"):
        return None
    paths = [field_paths.parse(field.field_path) for field in structured.select.fields]
    return tuple(path for path in paths if path != NAME)


def _orders(structured: Any, disjuncts: tuple[Disjunct, ...]) -> tuple[Order, ...]:
    explicit = [Order(field_paths.parse(o.field.field_path), o.direction == DESCENDING) for o in structured.order_by]
    seen = [order.field for order in explicit]
    if len(set(seen)) != len(seen):
        raise invalid("order by clause cannot contain duplicate fields.")
    if len(explicit) > MAX_ORDERS:
        raise invalid(f"A query may order by at most {MAX_ORDERS} fields.")
    last = explicit[-1].descending if explicit else False
    unequal = {c.field for disjunct in disjuncts for c in disjunct if c.op in INEQUALITIES}
    implicit = sorted(unequal - set(seen) - {NAME})
    if NAME in seen[:-1]:
        raise invalid("order by clause cannot contain more fields after the key")
    if NAME in seen and implicit:
        raise invalid("order by clause cannot contain more fields after the key")
    if NAME in seen:
        return tuple(explicit)
    return (*explicit, *(Order(path, last) for path in implicit), Order(NAME, last))


def _check_deep(scope: Scope, disjuncts: tuple[Disjunct, ...], orders: tuple[Order, ...]) -> None:
    """Below a document, all descendants can be asked for by name only."""
    fields = {condition.field for disjunct in disjuncts for condition in disjunct} | {order.field for order in orders}
    if scope.deep and not scope.parent.endswith("/documents") and fields != {NAME}:
        raise invalid("collection group queries are only allowed at the root parent")


def check_key_scan(disjuncts: tuple[Disjunct, ...], orders: tuple[Order, ...]) -> None:
    """Refuse a scan by descending name alone: names are only kept ascending."""
    keys_only = all(condition.field == NAME for disjunct in disjuncts for condition in disjunct)
    if keys_only and orders == (Order(NAME, descending=True),):
        raise failed_precondition("Firestore does not support descending key scans")


def _cursors(structured: Any, orders: tuple[Order, ...], scope: Scope) -> tuple[bytes, bytes]:
    low, high = b"", encoding.AFTER
    explicit = len(structured.order_by)
    if structured.HasField("start_at"):
        key = _position(structured.start_at, orders, scope, explicit)
        low = key if structured.start_at.before else key + encoding.AFTER
    if structured.HasField("end_at"):
        key = _position(structured.end_at, orders, scope, explicit)
        high = key if structured.end_at.before else key + encoding.AFTER
    return low, high


def _position(cursor: Any, orders: tuple[Order, ...], scope: Scope, explicit: int) -> bytes:
    if len(cursor.values) > explicit:
        raise invalid("Cursor has too many values.")
    parts = []
    for value, order in zip(cursor.values, orders, strict=False):
        key = name_operand(value, scope.parent) if order.field == NAME else encoding.encode(value)
        parts.append(encoding.invert(key) if order.descending else key)
    return b"".join(parts)
