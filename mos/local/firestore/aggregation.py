"""Aggregations over a query: count, sum and average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mos.local.firestore import fields as field_paths
from mos.local.firestore.engine import Engine, Reading
from mos.local.firestore.errors import invalid
from mos.local.firestore.fields import FieldPath
from mos.local.firestore.messages import Value
from mos.local.firestore.query import Order, Query

MAX_AGGREGATIONS = 5
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def aggregate(engine: Engine, reading: Reading, base: Query, aggregations: Sequence[Any]) -> tuple[dict[str, Any], int]:
    """The value per alias, and how many index entries were looked at.

    Raises:
        Refused: INVALID_ARGUMENT for none or more than five aggregations, or a clash of aliases.
    """
    if not 1 <= len(aggregations) <= MAX_AGGREGATIONS:
        raise invalid(f"An aggregation query takes 1 to {MAX_AGGREGATIONS} aggregations.")
    fields = _fields(aggregations)
    query = _requiring(base, fields)
    engine.check_index(query)
    if not fields and reading.transaction is None:
        total = engine.count(reading, query, _up_to(aggregations))
        return _named(aggregations, [Value(integer_value=_capped(total, item)) for item in aggregations]), total
    documents = [doc.parsed() for doc in engine.run(reading, query)]
    return _named(aggregations, [_value(item, documents) for item in aggregations]), len(documents)


def _fields(aggregations: Sequence[Any]) -> list[FieldPath]:
    paths = []
    for item in aggregations:
        kind = item.WhichOneof("operator")
        if kind is None:
            raise invalid("An aggregation has no operator.")
        if kind != "count":
            paths.append(field_paths.parse(getattr(item, kind).field.field_path))
    return list(dict.fromkeys(paths))


def _requiring(base: Query, paths: list[FieldPath]) -> Query:
    """Aggregated fields are ordered by, so documents that lack one do not take part."""
    for path in paths:
        if base.projection is not None and path not in base.projection:
            name = field_paths.render(path)
            raise invalid(f"The aggregation property {name} is not present in the base query's property mask.")
    if paths and base.projection is not None:
        raise invalid("Cannot apply property masks when aggregation fields are present.")
    present = {order.field for order in base.orders}
    added = tuple(Order(path, base.orders[-1].descending) for path in sorted(paths) if path not in present)
    if added and base.explicit_name:
        raise invalid(
            f"This query requires an index that has fields [{', '.join(field_paths.render(o.field) for o in added)}] "
            "after __name__ and Firestore does not currently support such an index."
        )
    return replace(base, orders=(*base.orders[:-1], *added, base.orders[-1])) if added else base


def _up_to(aggregations: Sequence[Any]) -> int | None:
    limits = [item.count.up_to.value if item.count.HasField("up_to") else None for item in aggregations]
    known = [limit for limit in limits if limit is not None]
    if any(limit <= 0 for limit in known):
        raise invalid("up_to must be positive.")
    return max(known) if len(known) == len(limits) else None


def _capped(total: int, item: Any) -> int:
    return min(total, item.count.up_to.value) if item.count.HasField("up_to") else total


def _named(aggregations: Sequence[Any], values: list[Any]) -> dict[str, Any]:
    taken = {item.alias for item in aggregations if item.alias}
    free = (f"field_{number}" for number in range(1, 100) if f"field_{number}" not in taken)
    named = {item.alias or next(free): value for item, value in zip(aggregations, values, strict=True)}
    if len(named) != len(values):
        raise invalid("Aggregations of one query need different aliases.")
    return named


def _value(item: Any, documents: list[Any]) -> Any:
    kind = item.WhichOneof("operator")
    if kind == "count":
        return Value(integer_value=_capped(len(documents), item))
    path = field_paths.parse(getattr(item, kind).field.field_path)
    numbers = [number for document in documents if (number := _number(document, path)) is not None]
    return _sum(numbers) if kind == "sum" else _average(numbers)


def _number(document: Any, path: FieldPath) -> int | float | None:
    value = field_paths.get(document.fields, path)
    kind = value.WhichOneof("value_type") if value is not None else None
    if kind not in {"integer_value", "double_value"}:
        return None
    number: int | float = getattr(value, kind)
    return number


def _sum(numbers: list[int | float]) -> Any:
    if all(isinstance(number, int) for number in numbers):
        total = sum(numbers)
        if INT_MIN <= total <= INT_MAX:
            return Value(integer_value=int(total))
    return Value(double_value=_float_sum(numbers))


def _float_sum(numbers: list[int | float]) -> float:
    """Integers are added exactly before they become a float."""
    whole = sum(number for number in numbers if isinstance(number, int))
    return float(whole) + sum(number for number in numbers if isinstance(number, float))


def _average(numbers: list[int | float]) -> Any:
    if not numbers:
        return Value(null_value=0)
    total = _float_sum(numbers)
    return Value(double_value=total / len(numbers) if math.isfinite(total) else total)
