"""Durability: what was acknowledged is in SQLite (write-ahead log) before the answer leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from grpc import StatusCode

from mos.local.firestore.encoding import name_key
from mos.local.firestore.errors import Refused
from mos.local.firestore.mutation import Doc
from mos.local.firestore.store import Change

SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    name TEXT PRIMARY KEY, created INTEGER NOT NULL, updated INTEGER NOT NULL, data BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
FORMAT = 1
UPSERT = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)"
DELETE = "DELETE FROM documents WHERE name = ?"
STATE = "INSERT OR REPLACE INTO state VALUES (?, ?)"


class DataFileError(Exception):
    """The data file cannot be used; the text says what to do."""


class Storage(Protocol):
    """Where documents survive the process."""

    def load(self) -> Iterator[Doc]: ...
    def last_commit(self) -> int: ...
    def save(self, changes: Iterable[Change], at: int) -> None: ...
    def clear(self, at: int) -> None: ...
    def close(self) -> None: ...


class Memory:
    """Nothing survives."""

    def load(self) -> Iterator[Doc]:
        """No documents."""
        return iter(())

    def last_commit(self) -> int:
        """Before all time."""
        return 0

    def save(self, changes: Iterable[Change], at: int) -> None:
        """Keep nothing."""

    def clear(self, at: int) -> None:
        """Nothing to remove."""

    def close(self) -> None:
        """Nothing to close."""


class Sqlite:
    """One file, opened by one server at a time.

    A commit is in the operating system's hands before it is acknowledged: it survives a killed process,
    and with `synchronous=NORMAL` a power cut may cost the last commits but never the file.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            DataFileError: it is no database, of another format, or in use.
        """
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
            self._prepare()
        except (sqlite3.Error, OSError) as error:
            raise DataFileError(
                f"{path} cannot be used as a data file ({error}): stop the server that has it open, or choose another."
            ) from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)
        found = dict(self._db.execute("SELECT key, value FROM state")).get("format")
        if found not in {None, FORMAT}:
            raise DataFileError(f"{self._path} has format {found}, this server writes {FORMAT}: choose another file.")
        self._db.execute(STATE, ("format", FORMAT))

    def load(self) -> Iterator[Doc]:
        """Every document that was acknowledged."""
        for name, created, updated, data in self._db.execute("SELECT name, created, updated, data FROM documents"):
            yield Doc(name=name, key=name_key.__wrapped__(name), data=data, created=created, updated=updated)

    def last_commit(self) -> int:
        """The latest commit time, in microseconds, so that times keep growing across restarts."""
        found = dict(self._db.execute("SELECT key, value FROM state")).get("last_commit", 0)
        return int(found)

    def save(self, changes: Iterable[Change], at: int) -> None:
        """Write a commit, whole or not at all.

        Raises:
            Refused: RESOURCE_EXHAUSTED where the file cannot be written; nothing was.
        """
        try:
            self._write(changes, at)
        except sqlite3.Error as error:
            raise Refused(
                StatusCode.RESOURCE_EXHAUSTED, f"The data file {self._path} cannot be written ({error})."
            ) from error

    def _write(self, changes: Iterable[Change], at: int) -> None:
        with self._db:
            self._db.execute("BEGIN")
            for name, _, after in changes:
                if after is None:
                    self._db.execute(DELETE, (name,))
                else:
                    self._db.execute(UPSERT, (name, after.created, after.updated, after.data))
            self._db.execute(STATE, ("last_commit", at))

    def clear(self, at: int) -> None:
        """Remove every document."""
        with self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM documents")
            self._db.execute(STATE, ("last_commit", at))

    def close(self) -> None:
        """Fold the log into the file and let it go."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()
