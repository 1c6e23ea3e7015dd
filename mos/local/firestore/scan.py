"""How a query is answered: each disjunct is one range of one sorted index, and the ranges are merged by the order key.

A key is `equalities + order values + name`, so that everything behind the equalities sorts as the query asks;
ranges and cursors are bounds on bytes, and only what they cannot express is checked on the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from mos.local.firestore import encoding
from mos.local.firestore import fields as field_paths
from mos.local.firestore.fields import NAME, FieldPath
from mos.local.firestore.filters import RANGES, Condition, Disjunct, Op
from mos.local.firestore.mutation import Doc
from mos.local.firestore.query import Order, Query


class Spec(NamedTuple):
    """The shape of a sorted index: equality fields (True = by array element), then ordered fields."""

    equalities: tuple[tuple[FieldPath, bool], ...]
    orders: tuple[Order, ...]

    def entries(self, doc: Doc, document: Any) -> list[bytes]:
        """The keys of a document in this index; none where it lacks one of the fields."""
        tail = self._tail(doc, document)
        if tail is None:
            return []
        heads = [_equality_keys(document, path, by_element=many) for path, many in self.equalities]
        return [b"".join(parts) + tail for parts in product(*heads)]

    def _tail(self, doc: Doc, document: Any) -> bytes | None:
        parts = []
        for path, descending in self.orders:
            if path == NAME:
                key = doc.key
            else:
                value = field_paths.get(document.fields, path)
                if value is None:
                    return None
                key = encoding.encode(value)
            parts.append(encoding.invert(key) if descending else key)
        return b"".join(parts)

    @property
    def only_names(self) -> bool:
        """Whether documents need not be parsed to be placed in it."""
        return not self.equalities and all(order.field == NAME for order in self.orders)


def _equality_keys(document: Any, path: FieldPath, *, by_element: bool) -> list[bytes]:
    value = field_paths.get(document.fields, path)
    if value is None:
        return []
    if not by_element:
        return [encoding.encode(value)]
    return list(dict.fromkeys(encoding.encode(item) for item in value.array_value.values))


class Range(NamedTuple):
    """One scan: the index's shape, the key range, and the conditions that the range does not express."""

    spec: Spec
    prefix: bytes
    low: bytes
    high: bytes
    residual: tuple[Condition, ...]

    @property
    def is_empty(self) -> bool:
        """Whether no key can lie in it."""
        return self.low >= self.high


def ranges(query: Query) -> list[Range]:
    """The scans that together answer a query."""
    return [_range(query, disjunct) for disjunct in query.disjuncts]


def _range(query: Query, disjunct: Disjunct) -> Range:
    equalities, residual = _split(disjunct)
    ordered = sorted(equalities.items())
    spec = Spec(tuple(key for key, _ in ordered), query.orders)
    prefix = b"".join(encoded for _, encoded in ordered)
    low, high = query.low, query.high
    first = query.orders[0]
    checked = []
    for condition in residual:
        if condition.field == first.field and (condition.op in RANGES or condition.op is Op.EQUAL):
            lower, upper = encoding.bounds(
                condition.op.value, condition.keys[0], descending=first.descending, typed=first.field != NAME
            )
            low, high = max(low, lower), min(high, upper)
        else:
            checked.append(condition)
    return Range(spec, prefix, prefix + low, prefix + high, tuple(checked))


def _split(disjunct: Disjunct) -> tuple[dict[tuple[FieldPath, bool], bytes], list[Condition]]:
    """Equalities that can lead a key (one per field), and everything else."""
    equalities: dict[tuple[FieldPath, bool], bytes] = {}
    residual: list[Condition] = []
    for condition in disjunct:
        leads = condition.op in {Op.EQUAL, Op.HAS} and condition.field != NAME
        slot = (condition.field, condition.op is Op.HAS)
        if leads and slot not in equalities:
            equalities[slot] = condition.keys[0]
        else:
            residual.append(condition)
    return equalities, residual


def filtered(found: Iterator[tuple[bytes, Doc]], scan: Range) -> Iterator[tuple[bytes, Doc]]:
    """Order keys (behind the equalities) and documents of a scan that satisfy its residual conditions."""
    cut = len(scan.prefix)
    for key, doc in found:
        if scan.residual:
            document = doc.parsed()
            if not all(condition.matches(doc, document) for condition in scan.residual):
                continue
        yield key[cut:], doc
