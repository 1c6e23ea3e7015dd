"""Field transforms: server time, increment, maximum, minimum, array union and removal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from mos.local.firestore import fields as field_paths
from mos.local.firestore.clock import stamp
from mos.local.firestore.encoding import encode
from mos.local.firestore.errors import invalid
from mos.local.firestore.messages import Value

MAX_TRANSFORMS = 500
REQUEST_TIME = 1
ARRAY_STEPS = frozenset({"append_missing_elements", "remove_all_from_array"})
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def check(steps: Iterable[Any]) -> None:
    """Everything about the transforms of a write that can be refused without looking at the document.

    Raises:
        Refused: INVALID_ARGUMENT.
    """
    paths = [field_paths.check_writable(field_paths.parse(step.field_path)) for step in steps]
    for path in paths:
        if any(other != path and other[: len(path)] == path for other in paths):
            raise invalid(
                f"Cannot transform property {field_paths.render(path)} and its nested property at the same time."
            )
    for step in steps:
        _check_operand(step)


def _check_operand(step: Any) -> None:
    match step.WhichOneof("transform_type"):
        case "set_to_server_value":
            if step.set_to_server_value != REQUEST_TIME:
                raise invalid("Unknown server value in a field transform.")
        case "increment" | "maximum" | "minimum" as kind:
            if not _is_number(getattr(step, kind)):
                raise invalid("Input must be int64 or double.")
        case "append_missing_elements" | "remove_all_from_array" as kind:
            if any(item.HasField("array_value") for item in getattr(step, kind).values):
                raise invalid("Cannot put an array directly into an array.")
        case _:
            raise invalid("A field transform has no operation.")


def apply(document: Any, transform: Any, now: int) -> Any:
    """Change one field of `document` and return the transform's result value. The transform has been checked."""
    path = field_paths.parse(transform.field_path)
    before = field_paths.get(document.fields, path)
    kind = transform.WhichOneof("transform_type")
    result = Value()
    match kind:
        case "set_to_server_value":
            after = Value(timestamp_value=stamp(now))
        case "increment" | "maximum" | "minimum":
            after = _arithmetic(kind, before, getattr(transform, kind))
        case _:
            after = _array(kind, before, getattr(transform, kind))
    result.CopyFrom(Value(null_value=0) if kind in ARRAY_STEPS else after)
    field_paths.put(document.fields, path, after)
    return result


def _is_number(value: Any) -> bool:
    return value is not None and value.WhichOneof("value_type") in {"integer_value", "double_value"}


def _number(value: Any) -> int | float:
    number: int | float = value.integer_value if value.HasField("integer_value") else value.double_value
    return number


def _arithmetic(kind: str, before: Any, operand: Any) -> Any:
    if not _is_number(before):
        return operand
    if kind == "increment":
        return _sum(_number(before), _number(operand))
    return _extreme(kind, before, operand)


def _sum(left: float, right: float) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return Value(integer_value=max(INT_MIN, min(INT_MAX, left + right)))
    return Value(double_value=float(left) + float(right))


def _extreme(kind: str, before: Any, operand: Any) -> Any:
    left, right = _number(before), _number(operand)
    if math.isnan(left) or math.isnan(right):
        return before if math.isnan(left) else operand
    wins = right > left if kind == "maximum" else right < left
    return operand if wins else before


def _array(kind: str, before: Any, operand: Any) -> Any:
    items = list(before.array_value.values) if before is not None and before.HasField("array_value") else []
    result = Value()
    result.array_value.SetInParent()
    if kind == "remove_all_from_array":
        unwanted = {encode(item) for item in operand.values}
        result.array_value.values.extend(item for item in items if encode(item) not in unwanted)
        return result
    result.array_value.values.extend(items)
    present = {encode(item) for item in items}
    for item in operand.values:
        key = encode(item)
        if key not in present:
            present.add(key)
            result.array_value.values.append(item)
    return result
