"""Answers built from stored bytes: a document is not parsed and serialized again to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mos.local.firestore import fields as field_paths
from mos.local.firestore.clock import stamp
from mos.local.firestore.fields import FieldPath
from mos.local.firestore.messages import Document
from mos.local.firestore.mutation import Doc

SEVEN_BITS = 0x7F


def varint(number: int) -> bytes:
    """A protobuf varint."""
    parts = bytearray()
    while number > SEVEN_BITS:
        parts.append(number & SEVEN_BITS | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited protobuf field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def timestamp(number: int, us: int) -> bytes:
    """A timestamp field."""
    return field(number, stamp(us).SerializeToString())


def document(doc: Doc, mask: Sequence[FieldPath] | None) -> bytes:
    """A serialized `Document`, reduced to the fields of a mask."""
    if mask is None:
        return doc.data
    whole = doc.parsed()
    part = Document(name=whole.name, create_time=whole.create_time, update_time=whole.update_time)
    field_paths.project(whole.fields, mask, part.fields)
    data: bytes = part.SerializeToString()
    return data


def mask_of(request: Any, name: str = "mask") -> tuple[FieldPath, ...] | None:
    """The field paths of a request's mask, None where it has none."""
    if not request.HasField(name):
        return None
    return tuple(field_paths.parse(path) for path in getattr(request, name).field_paths)
