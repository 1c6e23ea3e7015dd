"""Firestore's value order as bytes: `encode(a) < encode(b)` exactly when a sorts before b.

Order of types: null < bool < NaN < number < timestamp < string < bytes < reference < geo point < array < vector < map.
Encodings are prefix-free, so that they can be joined into composite keys and inverted for descending order.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from mos.local.firestore.fields import is_vector
from mos.local.firestore.names import numeric_id

NULL, BOOL, NAN, NUMBER, TIME, STRING, BYTES, REFERENCE, GEO, ARRAY, VECTOR, MAP = range(0x08, 0x68, 0x08)
BRACKET = 0x08
END = b"\x00"
AFTER = b"\xff"  # larger than any byte that can follow a complete encoding
INVERTED = bytes(255 - byte for byte in range(256))
SIGN = 1 << 63
ALL = (1 << 64) - 1
_DOUBLE = struct.Struct(">d")
_WORD = struct.Struct(">Q")


def invert(key: bytes) -> bytes:
    """The same encoding for descending order."""
    return key.translate(INVERTED)


def text(raw: bytes) -> bytes:
    """Bytes of any content, self-delimiting."""
    return raw.replace(b"\x00", b"\x00\xff") + b"\x00\x01"


def _ordered_double(number: float) -> bytes:
    (bits,) = _WORD.unpack(_DOUBLE.pack(number))
    return _WORD.pack(bits ^ ALL if bits & SIGN else bits | SIGN)


def _double(tag: int, number: float) -> bytes:
    return bytes((tag,)) + _ordered_double(number or 0.0) + b"\x80\x00"


def _integer(number: int) -> bytes:
    near = float(number)
    rest = number - int(near)
    return bytes((NUMBER,)) + _ordered_double(near) + struct.pack(">H", 0x8000 + rest)


def _number(value: Any) -> bytes:
    number = value.double_value
    return bytes((NAN,)) if math.isnan(number) else _double(NUMBER, number)


def _time(value: Any) -> bytes:
    moment = value.timestamp_value
    return bytes((TIME,)) + struct.pack(">QI", moment.seconds + SIGN, moment.nanos)


def _geo(value: Any) -> bytes:
    point = value.geo_point_value
    return bytes((GEO,)) + _ordered_double(point.latitude or 0.0) + _ordered_double(point.longitude or 0.0)


def _reference(value: Any) -> bytes:
    parts = value.reference_value.split("/")
    return bytes((REFERENCE,)) + text("/".join(parts[:4]).encode()) + path_key(tuple(parts[5:]))


def _array(value: Any) -> bytes:
    return bytes((ARRAY,)) + b"".join(encode(item) for item in value.array_value.values) + END


def _map(value: Any) -> bytes:
    fields = value.map_value.fields
    if is_vector(value):
        items = fields["value"].array_value.values
        return bytes((VECTOR,)) + struct.pack(">I", len(items)) + b"".join(encode(item) for item in items)
    pairs = sorted((key.encode(), item) for key, item in fields.items())
    return bytes((MAP,)) + b"".join(bytes((STRING,)) + text(key) + encode(item) for key, item in pairs) + END


_ENCODERS: dict[str | None, Callable[[Any], bytes]] = {
    "null_value": lambda _: bytes((NULL,)),
    "boolean_value": lambda value: bytes((BOOL, value.boolean_value)),
    "integer_value": lambda value: _integer(value.integer_value),
    "double_value": _number,
    "timestamp_value": _time,
    "string_value": lambda value: bytes((STRING,)) + text(value.string_value.encode()),
    "bytes_value": lambda value: bytes((BYTES,)) + text(value.bytes_value),
    "reference_value": _reference,
    "geo_point_value": _geo,
    "array_value": _array,
    "map_value": _map,
}


def encode(value: Any) -> bytes:
    """The order-preserving, prefix-free key of a value."""
    return _ENCODERS[value.WhichOneof("value_type")](value)


def path_key(path: Iterable[str]) -> bytes:
    """The key of a document path: by segment, numeric ids (`__id7__`) first and by number."""
    return b"".join(_segment(part) for part in path) + END


def _segment(part: str) -> bytes:
    number = numeric_id(part) if part.startswith("__id") else None
    if number is not None:
        return b"\x01" + struct.pack(">Q", number + SIGN)
    return b"\x02" + text(part.encode())


@lru_cache(maxsize=65536)
def name_key(name: str) -> bytes:
    """The key of a document's resource name inside its database."""
    return path_key(name.split("/")[5:])


def bounds(op: str, key: bytes, *, descending: bool, typed: bool = True) -> tuple[bytes, bytes]:
    """The half-open range of keys whose first value stands in relation `op` to `key`.

    `op` is one of `<`, `<=`, `>`, `>=`, `==`. With `typed`, only values of the operand's own type are in
    relation to it, as in Firestore; document names (`typed=False`) have no type.
    """
    first, last = _bracket(key, descending=descending) if typed else (b"", AFTER)
    if descending:
        key = invert(key)
        op = op.translate(_SWAP)
    return {
        "==": (key, key + AFTER),
        "<": (first, key),
        "<=": (first, key + AFTER),
        ">": (key + AFTER, last),
        ">=": (key, last),
    }[op]


def _bracket(key: bytes, *, descending: bool) -> tuple[bytes, bytes]:
    tag = key[0] & 0xF8
    return (bytes((248 - tag,)), bytes((256 - tag,))) if descending else (bytes((tag,)), bytes((tag + BRACKET,)))


_SWAP = str.maketrans("<>", "><")
