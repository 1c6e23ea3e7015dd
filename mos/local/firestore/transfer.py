"""Documents as JSON lines: one document a line, in the JSON form of the Firestore REST API."""

from __future__ import annotations

import json
from collections.abc import Iterable
from heapq import nsmallest

from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from mos.local.firestore.engine import Engine
from mos.local.firestore.messages import Document, Write
from mos.local.firestore.names import document
from mos.local.firestore.store import Store

BATCH = 500


def export_page(store: Store, after: str, limit: int) -> tuple[list[str], str]:
    """Up to `limit` documents whose names come after `after`, and the name to go on behind (empty at the end)."""
    names = nsmallest(limit, (name for name in store.docs if name > after))
    lines = [json.dumps(MessageToDict(store.docs[name].parsed()), sort_keys=True) for name in names]
    return lines, names[-1] if len(names) == limit else ""


def import_lines(engine: Engine, lines: Iterable[str]) -> int:
    """Write exported documents, replacing those of the same name; returns how many.

    Raises:
        ValueError: a line is no document.
        Refused: a document breaks a limit.
    """
    written = 0
    batch: dict[str, list[object]] = {}
    for number, line in enumerate(filter(str.strip, lines), start=1):
        write = Write(update=_parsed(line, number))
        database = document(write.update.name).database
        batch.setdefault(database, []).append(write)
        written += 1
        if len(batch[database]) == BATCH:
            engine.commit(database, batch.pop(database))
    for database, writes in batch.items():
        engine.commit(database, writes)
    return written


def _parsed(line: str, number: int) -> object:
    try:
        content = json.loads(line)
        wanted = {key: content[key] for key in ("name", "fields") if key in content}
        parsed: object = ParseDict(wanted, Document())
    except (ValueError, ParseError, TypeError) as error:
        raise ValueError(f"Line {number} is no exported document ({error}).") from error
    return parsed
