"""The data file: what it refuses, and what happens when it is full."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from google.api_core import exceptions

from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.storage import DataFileError, Sqlite


def test_a_full_disk_refuses_the_commit_and_keeps_the_rest(tmp_path: Path) -> None:
    storage = Sqlite(tmp_path / "data.db")
    engine = Engine(storage=storage)
    db = connect(engine)
    db.document("c/before").set({"n": 1})
    pages = storage._db.execute("PRAGMA page_count").fetchone()[0]
    storage._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(exceptions.ResourceExhausted, match="full"):
        db.document("c/large").set({"text": "x" * 500_000}, retry=None)
    assert not db.document("c/large").get().exists
    storage._db.execute("PRAGMA max_page_count = 100000")
    db.document("c/after").set({"n": 2})
    engine.close()
    again = connect(Engine(storage=Sqlite(tmp_path / "data.db")))
    assert [snapshot.id for snapshot in again.collection("c").stream()] == ["after", "before"]


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    Sqlite(tmp_path / "data.db").close()
    with sqlite3.connect(tmp_path / "data.db") as file:
        file.execute("UPDATE state SET value = 99 WHERE key = 'format'")
    file.close()
    with pytest.raises(DataFileError, match="format 99"):
        Sqlite(tmp_path / "data.db")


def test_times_go_on_growing_after_a_delete_and_a_restart_with_a_clock_that_went_back(tmp_path: Path) -> None:
    engine = Engine(storage=Sqlite(tmp_path / "data.db"))
    connect(engine).document("c/x").set({})
    engine.clock.last += 10_000_000_000
    connect(engine).document("c/x").delete()
    last = engine.clock.last
    engine.close()
    later = Engine(storage=Sqlite(tmp_path / "data.db"))
    connect(later).document("c/x").set({})
    assert later.store.docs.popitem()[1].updated > last
    later.close()
