"""Resource names: `projects/{p}/databases/{d}/documents/{collection}/{id}/…`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mos.local.firestore.errors import invalid

RESERVED = re.compile(r"__.*__", re.DOTALL)
NUMERIC_ID = re.compile(r"__id(-?\d{1,19})__")
DATABASE = re.compile(r"projects/[^/]+/databases/[^/]+")
INT64 = 1 << 63
MAX_SEGMENT_BYTES = 1500
MAX_NAME_BYTES = 6 * 1024
MAX_DEPTH = 100
ROOT_PARTS = 5


class Name(NamedTuple):
    """A parsed resource name: its database and the path below `documents`."""

    database: str
    path: tuple[str, ...]

    @property
    def is_document(self) -> bool:
        """Documents have an even number of segments, and the root none."""
        return len(self.path) % 2 == 0


@lru_cache(maxsize=65536)
def parse(name: str) -> Name:
    """Split a resource name below `documents` (which alone is the root).

    Raises:
        Refused: INVALID_ARGUMENT where the name is malformed.
    """
    parts = name.split("/")
    if len(parts) < ROOT_PARTS or parts[0] != "projects" or parts[2] != "databases" or parts[4] != "documents":
        raise invalid(f'Resource name "{name}" does not match "projects/*/databases/*/documents/**".')
    path = tuple(parts[5:])
    if not parts[1] or not parts[3] or "" in path:
        raise invalid(f'Resource name "{name}" has an empty segment.')
    for segment in path:
        check_segment(segment)
    if len(path) > 2 * MAX_DEPTH or len(name.encode()) > MAX_NAME_BYTES:
        raise invalid("The document name is too deep or longer than 6 KiB.")
    return Name("/".join(parts[:4]), path)


def numeric_id(segment: str) -> int | None:
    """The number of an id such as `__id7__`, None for any other id."""
    match = NUMERIC_ID.fullmatch(segment)
    number = int(match.group(1)) if match else None
    return number if number is not None and -INT64 <= number < INT64 else None


def check_segment(segment: str) -> None:
    """Refuse ids that Firestore refuses."""
    if segment in {".", ".."}:
        raise invalid(f'Document and collection ids cannot be "{segment}".')
    if segment.startswith("__") and RESERVED.fullmatch(segment) and numeric_id(segment) is None:
        raise invalid(f'Resource id "{segment}" is invalid because it is reserved.')
    if len(segment) > MAX_SEGMENT_BYTES // 4 and len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise invalid("A document or collection id is longer than 1500 bytes.")


def check_collection_id(collection_id: str) -> None:
    """Refuse what cannot be the id of a collection (an empty one stands for any)."""
    if "/" in collection_id:
        raise invalid(f'Collection id "{collection_id}" is invalid because it contains "/".')
    if RESERVED.fullmatch(collection_id) and numeric_id(collection_id) is None:
        raise invalid(f'Collection id "{collection_id}" is invalid because it is reserved.')


def document(name: str) -> Name:
    """The parsed name of a document; refuses collections and the root."""
    parsed = parse(name)
    if not parsed.path or not parsed.is_document:
        raise invalid(f'Document name "{name}" has an odd number of segments or none: it names no document.')
    return parsed


def collection_of(name: str) -> str:
    """The resource name of the collection that holds the document."""
    return name.rpartition("/")[0]


def collection_id_of(name: str) -> str:
    """The last segment of the collection that holds the document."""
    return name.rsplit("/", 2)[1]


def check_database(database: str) -> str:
    """A database's resource name, or INVALID_ARGUMENT."""
    if not DATABASE.fullmatch(database):
        raise invalid(f'Database name "{database}" does not match "projects/*/databases/*".')
    return database
