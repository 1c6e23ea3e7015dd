"""Prefect's database, made from its own schema instead of by ten seconds of migrations.

`schema.sql` is what Prefect's migrations leave behind (`python -m
mos.local.orchestration.database` writes it anew). It names the revision it
stands at, so a newer Prefect just migrates on from there when it starts.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import tempfile
from importlib import resources
from pathlib import Path

DATABASE = "prefect.db"
_SCHEMA = resources.files(__package__ or "mos.local.orchestration") / "schema.sql"


def prepare_database(home: Path) -> bool:
    """Make the database in Prefect's home directory unless there is one; whether it was made."""
    database = home / DATABASE
    if database.exists():
        return False
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        made = Path(scratch) / DATABASE
        connection = sqlite3.connect(made)
        connection.executescript(shipped_schema())
        connection.execute("PRAGMA journal_mode = wal")
        connection.close()
        return _link(made, database)


def _link(made: Path, database: Path) -> bool:
    """Give the finished file its name, whole or not at all, and never in the place of another one."""
    try:
        os.link(made, database)
    except FileExistsError:
        return False
    return True


def shipped_schema() -> str:
    """The SQL that this package carries."""
    return _SCHEMA.read_text(encoding="utf-8")


def migrated_schema() -> str:
    """The SQL of a database that the installed Prefect has just migrated (takes ten seconds)."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["PREFECT_HOME"] = home  # Prefect reads its settings once, when it is first imported
        asyncio.run(_migrate())
        connection = sqlite3.connect(Path(home) / DATABASE)
        schema = "\n".join(connection.iterdump())
        connection.close()
    return schema + "\n"


async def _migrate() -> None:
    from prefect.server.database import provide_database_interface

    await provide_database_interface().create_db()


if __name__ == "__main__":
    sys.stdout.write(migrated_schema())
