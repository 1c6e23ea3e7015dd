"""Field paths (``a.b.`odd name` ``) and what they reach inside a document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from mos.local.firestore.errors import invalid

FieldPath = tuple[str, ...]
NAME: FieldPath = ("__name__",)

SEGMENT = re.compile(r"`((?:[^`\\]|\\.)*)`|([a-zA-Z_][a-zA-Z_0-9]*)", re.DOTALL)
SIMPLE = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
RESERVED = re.compile(r"__.*__", re.DOTALL)
MAX_FIELD_NAME_BYTES = 1500


@lru_cache(maxsize=8192)
def parse(path: str) -> FieldPath:
    """Split a field path into its segments.

    Raises:
        Refused: INVALID_ARGUMENT for a malformed path.
    """
    segments: list[str] = []
    at = 0
    while True:
        match = SEGMENT.match(path, at)
        if match is None:
            raise invalid(f'Invalid property path "{path}".')
        quoted, plain = match.groups()
        segments.append(ESCAPED.sub(r"\1", quoted) if plain is None else plain)
        at = match.end()
        if at == len(path):
            return _checked(tuple(segments), path)
        if path[at] != ".":
            raise invalid(f'Invalid property path "{path}".')
        at += 1


def _checked(segments: FieldPath, path: str) -> FieldPath:
    for segment in segments:
        if not segment or len(segment.encode()) > MAX_FIELD_NAME_BYTES:
            raise invalid(f'Property path "{path}" has an empty or too long segment.')
    return segments


def check_writable(path: FieldPath) -> FieldPath:
    """Refuse `__name__`-like fields in masks and transforms of a write."""
    for segment in path:
        if RESERVED.fullmatch(segment):
            raise invalid(f'Invalid property path "{render(path)}": the field name is reserved.')
    return path


def render(path: FieldPath) -> str:
    """The path as Firestore writes it, quoted where it must be."""
    return ".".join(part if SIMPLE.fullmatch(part) else f"`{_escape(part)}`" for part in path)


def _escape(part: str) -> str:
    return part.replace("\\", "\\\\").replace("`", "\\`")


def is_vector(value: Any) -> bool:
    """Whether a map value is a vector (`__type__` = `__vector__`): one value, without fields of its own."""
    fields = value.map_value.fields
    return "__type__" in fields and fields["__type__"].string_value == "__vector__"


def _is_map(value: Any) -> bool:
    return value.HasField("map_value") and not is_vector(value)


def get(fields: Any, path: FieldPath) -> Any:
    """The value at `path` in a map of fields, or None where there is none."""
    value = None
    for part in path:
        if part not in fields:
            return None
        value = fields[part]
        fields = value.map_value.fields if _is_map(value) else ()
    return value


def put(fields: Any, path: FieldPath, value: Any) -> None:
    """Set `path`, making maps on the way and replacing what is not a map."""
    for part in path[:-1]:
        holder = fields[part]
        if not _is_map(holder):
            holder.Clear()
            holder.map_value.SetInParent()
        fields = holder.map_value.fields
    fields[path[-1]].CopyFrom(value)


def drop(fields: Any, path: FieldPath) -> None:
    """Remove `path` where it is present."""
    for part in path[:-1]:
        if part not in fields or not _is_map(fields[part]):
            return
        fields = fields[part].map_value.fields
    if path[-1] in fields:
        del fields[path[-1]]


def project(source: Any, paths: Iterable[FieldPath], target: Any) -> None:
    """Copy only `paths` from one map of fields into another."""
    for path in paths:
        value = get(source, path)
        if value is not None:
            put(target, path, value)
