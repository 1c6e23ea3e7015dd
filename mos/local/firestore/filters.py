"""Filters of a query: checked, flattened to disjunctive normal form, and applied to documents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple

from mos.local.firestore import encoding
from mos.local.firestore import fields as field_paths
from mos.local.firestore.errors import invalid
from mos.local.firestore.fields import NAME, FieldPath
from mos.local.firestore.mutation import Doc
from mos.local.firestore.names import document

MAX_DISJUNCTS = 30
MAX_FILTERS = 100
MAX_IN = 30
MAX_NOT_IN = 10
AND, OR = 1, 2
UNARY_EXCLUSIONS = frozenset({4, 5})  # IS_NOT_NAN, IS_NOT_NULL


class Op(StrEnum):
    """Field operators; `HAS` is array-contains."""

    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    HAS = "array-contains"
    IN = "in"
    HAS_ANY = "array-contains-any"
    NOT_IN = "not-in"


FIELD_OPS = {
    1: Op.LESS,
    2: Op.LESS_EQUAL,
    3: Op.GREATER,
    4: Op.GREATER_EQUAL,
    5: Op.EQUAL,
    6: Op.NOT_EQUAL,
    7: Op.HAS,
    8: Op.IN,
    9: Op.HAS_ANY,
    10: Op.NOT_IN,
}
RANGES = frozenset({Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL})
EXCLUSIONS = frozenset({Op.NOT_EQUAL, Op.NOT_IN})
INEQUALITIES = RANGES | EXCLUSIONS
NULL_KEY = bytes((encoding.NULL,))
NAN_KEY = bytes((encoding.NAN,))
NEVER = b"\xfe"
"""The key of no value."""


class Condition(NamedTuple):
    """One comparison of a field with encoded operands (several for `in`, `not-in` and array-contains-any)."""

    field: FieldPath
    op: Op
    keys: tuple[bytes, ...]

    def matches(self, doc: Doc, document: Any) -> bool:
        """Whether a document satisfies it; a missing field never does."""
        if self.field == NAME:
            return self._holds(doc.key, typed=False)
        value = field_paths.get(document.fields, self.field)
        if value is None:
            return False
        if self.op is Op.HAS:
            return any(encoding.encode(item) == self.keys[0] for item in value.array_value.values)
        return self._holds(encoding.encode(value), typed=True)

    def _holds(self, key: bytes, *, typed: bool) -> bool:
        if self.op is Op.EQUAL:
            return key == self.keys[0]
        if self.op in EXCLUSIONS:
            emptied = self.op is Op.NOT_IN and NULL_KEY in self.keys
            return key != NULL_KEY and not emptied and key not in self.keys
        low, high = encoding.bounds(self.op.value, self.keys[0], descending=False, typed=typed)
        return low <= key < high


Disjunct = tuple[Condition, ...]


def flatten(where: Any, root: str) -> tuple[Disjunct, ...]:
    """The filter in disjunctive normal form, `in` and array-contains-any spread out; `root` is the query's parent.

    Raises:
        Refused: INVALID_ARGUMENT for what Firestore does not allow.
    """
    _check_exclusions(list(_kinds(where)))
    disjuncts = tuple(_expand(where, root))
    if len(disjuncts) > MAX_DISJUNCTS:
        raise invalid(f"A query may have at most {MAX_DISJUNCTS} disjuncts; this one has {len(disjuncts)}.")
    for disjunct in disjuncts:
        _check_disjunct(disjunct)
    return disjuncts


def _kinds(where: Any) -> Iterator[str]:
    """The operators that a filter uses, and OR where it does."""
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            if where.composite_filter.op == OR:
                yield "OR"
            for inner in where.composite_filter.filters:
                yield from _kinds(inner)
        case "field_filter":
            op = FIELD_OPS.get(where.field_filter.op)
            yield op.name if op else ""
        case _:
            yield "NOT_EQUAL" if where.unary_filter.op in UNARY_EXCLUSIONS else ""


def _check_exclusions(kinds: list[str]) -> None:
    if sum(kind in {"NOT_EQUAL", "NOT_IN"} for kind in kinds) > 1:
        raise invalid("Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
    if "NOT_IN" in kinds and not {"IN", "HAS_ANY", "OR"}.isdisjoint(kinds):
        raise invalid("'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")


def _check_disjunct(disjunct: Disjunct) -> None:
    ops = [condition.op for condition in disjunct]
    if len(ops) > MAX_FILTERS:
        raise invalid(f"A query may have at most {MAX_FILTERS} filters.")
    if ops.count(Op.HAS) > 1:
        raise invalid("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")


def _expand(where: Any, root: str) -> Iterator[Disjunct]:
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            yield from _composite(where.composite_filter, root)
        case "field_filter":
            yield from _field(where.field_filter, root)
        case "unary_filter":
            yield (_unary(where.unary_filter),)
        case _:
            raise invalid("A filter is empty.")


def _composite(composite: Any, root: str) -> Iterator[Disjunct]:
    branches = [tuple(_expand(inner, root)) for inner in composite.filters]
    match composite.op:
        case _ if composite.op == AND:
            _check_product(branches)
            for parts in product(*branches):
                yield tuple(condition for part in parts for condition in part)
        case _ if composite.op == OR and not branches:
            raise invalid("Composite filter must have at least one sub-filter.")
        case _ if composite.op == OR:
            for branch in branches:
                yield from branch
        case _:
            raise invalid("A composite filter must be AND or OR.")


def _check_product(branches: list[tuple[Disjunct, ...]]) -> None:
    total = math.prod(len(branch) for branch in branches)
    if total > MAX_DISJUNCTS:
        raise invalid(f"A query may have at most {MAX_DISJUNCTS} disjuncts; this one has {total}.")


def _unary(unary: Any) -> Condition:
    path = field_paths.parse(unary.field.field_path)
    match unary.op:
        case 2:
            return Condition(path, Op.EQUAL, (NAN_KEY,))
        case 3:
            return Condition(path, Op.EQUAL, (NULL_KEY,))
        case 4:
            return Condition(path, Op.NOT_EQUAL, (NAN_KEY,))
        case 5:
            return Condition(path, Op.NOT_EQUAL, (NULL_KEY,))
        case _:
            raise invalid("A unary filter has an unknown operator.")


def _field(comparison: Any, root: str) -> Iterator[Disjunct]:
    path = field_paths.parse(comparison.field.field_path)
    op = FIELD_OPS.get(comparison.op)
    if op is None:
        raise invalid("A field filter has an unknown operator.")
    if path == NAME and op in {Op.HAS, Op.HAS_ANY}:
        raise invalid("the name __key__ is reserved")
    keys = _comparable(op, tuple(_operand(path, item, root) for item in _operands(op, comparison.value)))
    match op:
        case Op.IN:
            yield from ((Condition(path, Op.EQUAL, (key,)),) for key in dict.fromkeys(keys))
        case Op.HAS_ANY:
            yield from ((Condition(path, Op.HAS, (key,)),) for key in dict.fromkeys(keys))
        case Op.NOT_IN if keys == (NULL_KEY,):
            yield (Condition(path, Op.EQUAL, (NEVER,)),)
        case _:
            yield (Condition(path, op, keys),)


def _comparable(op: Op, keys: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """A list of operands never matches NaN, nor null (but null in a `not-in` excludes everything)."""
    match op:
        case Op.IN | Op.HAS_ANY:
            return tuple(NEVER if key in {NULL_KEY, NAN_KEY} else key for key in keys)
        case Op.NOT_IN:
            return tuple(key for key in keys if key != NAN_KEY)
        case _:
            return keys


def _operands(op: Op, value: Any) -> list[Any]:
    if op not in {Op.IN, Op.HAS_ANY, Op.NOT_IN}:
        return [value]
    limit = MAX_NOT_IN if op is Op.NOT_IN else MAX_IN
    items = list(value.array_value.values)
    if not items:
        raise invalid(f"'{op.name}' requires a non-empty ArrayValue.")
    if len(items) > limit:
        raise invalid(f"'{op.name}' supports up to {limit} comparison values.")
    return items


def _operand(path: FieldPath, value: Any, root: str) -> bytes:
    if value.WhichOneof("value_type") is None:
        raise invalid("A filter compares with no value.")
    return name_operand(value, root) if path == NAME else encoding.encode(value)


def name_operand(value: Any, root: str) -> bytes:
    """The sort key of a reference that `__name__` is compared with.

    Raises:
        Refused: INVALID_ARGUMENT for anything but a document of the same database.
    """
    database = root.split("/documents", maxsplit=1)[0]
    reference: str = value.reference_value
    if not reference.startswith(f"{database}/documents/"):
        raise invalid("__key__ filter value must be a Key: compare __name__ with a document of this database.")
    document(reference)
    return encoding.name_key(reference)
