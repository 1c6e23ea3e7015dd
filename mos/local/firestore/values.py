"""What a document may hold: checks of names, nesting and sizes (Firestore's documented limits)."""

from __future__ import annotations

from typing import Any

from mos.local.firestore.errors import invalid
from mos.local.firestore.fields import MAX_FIELD_NAME_BYTES, RESERVED

MAX_DOCUMENT_BYTES = 1 << 20
MAX_VALUE_BYTES = MAX_DOCUMENT_BYTES - 89
MAX_DEPTH = 20
MAX_INDEX_ENTRIES = 40_000
NAME_OVERHEAD = 16
DOCUMENT_OVERHEAD = 32
VECTOR_KEYS = {"__type__", "value"}
FIXED_SIZES = {
    "null_value": 1,
    "boolean_value": 1,
    "integer_value": 8,
    "double_value": 8,
    "timestamp_value": 8,
    "geo_point_value": 16,
}
SCALARS = frozenset(FIXED_SIZES) | {"string_value", "bytes_value", "reference_value"}


def check_fields(fields: Any, *, depth: int = 0) -> None:
    """Refuse reserved field names, arrays in arrays, unset values, long strings and deep nesting.

    Timestamps are truncated to microseconds in place, as Firestore stores them.
    """
    if depth > MAX_DEPTH:
        raise invalid(f"Property is nested more than {MAX_DEPTH} levels deep.")
    for key, value in fields.items():
        _check_field_name(key)
        _check_value(value, key, depth)


def _check_field_name(key: str) -> None:
    if not key or (key.startswith("__") and RESERVED.fullmatch(key)):
        raise invalid(f'Field name "{key}" is empty or reserved.')
    if len(key) > MAX_FIELD_NAME_BYTES // 4 and len(key.encode()) > MAX_FIELD_NAME_BYTES:
        raise invalid(f"Field name is longer than {MAX_FIELD_NAME_BYTES} bytes.")


def _check_value(value: Any, key: str, depth: int) -> None:
    match value.WhichOneof("value_type"):
        case "string_value":
            _check_length(value.string_value, key)
        case "bytes_value":
            _check_length(value.bytes_value, key)
        case "timestamp_value":
            value.timestamp_value.nanos -= value.timestamp_value.nanos % 1000
        case "array_value":
            _check_array(value, key, depth)
        case "map_value":
            _check_map(value, depth)
        case kind if kind not in SCALARS:
            raise invalid(f'Field "{key}" has no value or one of an unsupported type.')


def _check_length(content: str | bytes, key: str) -> None:
    if len(content) * 4 <= MAX_VALUE_BYTES:
        return
    size = len(content.encode() if isinstance(content, str) else content)
    if size > MAX_VALUE_BYTES:
        raise invalid(f'The value of property "{key}" is longer than {MAX_VALUE_BYTES} bytes.')


def _check_array(value: Any, key: str, depth: int) -> None:
    if depth + 1 > MAX_DEPTH:
        raise invalid(f"Property {key} is nested more than {MAX_DEPTH} levels deep.")
    for item in value.array_value.values:
        if item.HasField("array_value"):
            raise invalid(f'Property "{key}" contains an invalid nested entity: an array directly in an array.')
        _check_value(item, key, depth + 1)


def _check_map(value: Any, depth: int) -> None:
    fields = value.map_value.fields
    if "__type__" in fields and set(fields) == VECTOR_KEYS:
        return
    check_fields(fields, depth=depth + 1)


def check_size(document: Any, serialized: int) -> None:
    """Refuse a document over 1 MiB as Firestore counts; `serialized` short-cuts the small ones."""
    if serialized * 4 < MAX_DOCUMENT_BYTES:
        return
    size = document_size(document)
    if size > MAX_DOCUMENT_BYTES:
        raise invalid(
            f"Document '{document.name}' cannot be written because its size ({size:,} bytes) exceeds the maximum "
            f"allowed size of {MAX_DOCUMENT_BYTES:,} bytes."
        )


def document_size(document: Any) -> int:
    """Firestore's own measure of a document, in bytes."""
    segments = document.name.split("/")[5:]
    name = NAME_OVERHEAD + sum(len(part.encode()) + 1 for part in segments)
    return name + DOCUMENT_OVERHEAD + _fields_size(document.fields)


def _fields_size(fields: Any) -> int:
    return sum(len(key.encode()) + 1 + value_size(value) for key, value in fields.items())


def value_size(value: Any) -> int:
    """Firestore's own measure of a value, in bytes."""
    match value.WhichOneof("value_type"):
        case "string_value":
            return len(value.string_value.encode()) + 1
        case "bytes_value":
            return len(value.bytes_value)
        case "reference_value":
            return NAME_OVERHEAD + sum(len(part.encode()) + 1 for part in value.reference_value.split("/")[5:])
        case "array_value":
            return sum(value_size(item) for item in value.array_value.values)
        case "map_value":
            return _fields_size(value.map_value.fields)
        case kind:
            return FIXED_SIZES[kind]
