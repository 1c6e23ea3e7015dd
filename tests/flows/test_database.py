"""Prefect's database without its migrations."""

import importlib.util
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mos.local.orchestration.database import prepare_database, shipped_schema


def revision(database: Path) -> str:
    connection = sqlite3.connect(database)
    (value,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    connection.close()
    return value


def test_it_stands_at_the_revision_that_the_installed_prefect_ends_at(tmp_path):
    """Otherwise the first start of every stack migrates: write schema.sql anew."""
    prefect = Path(importlib.util.find_spec("prefect").origin).parent
    migrations = prefect / "server" / "database" / "_migrations" / "versions" / "sqlite"
    texts = [file.read_text() for file in migrations.glob("*.py")]
    assert prepare_database(tmp_path)
    ours = revision(tmp_path / "prefect.db")
    assert any(f'revision = "{ours}"' in text or f'revision: str = "{ours}"' in text for text in texts)
    assert not any(f'down_revision = "{ours}"' in text for text in texts)


def test_an_existing_database_is_left_alone(tmp_path):
    (tmp_path / "prefect.db").write_bytes(b"mine")
    assert not prepare_database(tmp_path)
    assert (tmp_path / "prefect.db").read_bytes() == b"mine"


def test_one_that_appears_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """Two starts at the same moment: the second must not put an empty database under the first one's server."""
    monkeypatch.setattr(Path, "exists", lambda _: False)
    (tmp_path / "prefect.db").write_bytes(b"the other's")
    assert not prepare_database(tmp_path)
    monkeypatch.undo()
    assert (tmp_path / "prefect.db").read_bytes() == b"the other's"
    assert [file.name for file in tmp_path.iterdir()] == ["prefect.db"]


@pytest.mark.prove
def test_the_shipped_schema_is_what_the_migrations_make():
    made = subprocess.run(
        [sys.executable, "-m", "mos.local.orchestration.database"], capture_output=True, text=True, check=True
    )
    assert made.stdout == shipped_schema()
