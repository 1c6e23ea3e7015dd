"""Looking after a server: statistics, export and import, reset, health; errors in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from google.cloud import firestore
from google.cloud.firestore import Client
from typer.testing import CliRunner

from mos.local.firestore.admin import AdminError, admin
from mos.local.firestore.cli import app
from mos.local.firestore.testing import ServerProcess, client, server


@pytest.fixture
def other() -> Iterator[ServerProcess]:
    with server() as running:
        yield running


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def content(db: Client) -> dict[str, object]:
    return {
        "n": 2**62,
        "x": float("inf"),
        "text": "line\nbreak",
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "raw": b"\x00\xff",
        "ref": db.document("a/b"),
        "point": firestore.GeoPoint(1, 2),
        "list": [None, True, {"deep": []}],
    }


def test_what_is_exported_can_be_imported(
    firestore_server: ServerProcess, other: ServerProcess, tmp_path: Path
) -> None:
    with client(firestore_server.address, "moving") as db:
        db.document("things/a").set(content(db))
        db.document("things/a/parts/b").set({"n": 1})
    path = str(tmp_path / "all.jsonl")
    code, output = run("export", path, "--address", firestore_server.address)
    assert code == 0, output
    assert run("import", path, "--address", other.address)[0] == 0
    with client(other.address, "moving") as db:
        assert db.document("things/a").get().to_dict() == content(db)
        assert db.document("things/a/parts/b").get().exists


def test_more_documents_than_a_page_are_exported_once(other: ServerProcess) -> None:
    with client(other.address, "many") as db:
        for start in range(0, 2400, 400):
            batch = db.batch()
            for n in range(start, start + 400):
                batch.set(db.document(f"c/{n}"), {})
            batch.commit()
    with admin(other.address) as service:
        lines = list(service.export())
        assert len(lines) == len(set(lines)) == 2400
        assert service.reset() == 2400
        assert service.load(lines) == 2400
        assert service.stats()["documents"] == 2400


def test_reset_removes_everything_and_times_go_on(other: ServerProcess) -> None:
    with client(other.address) as db:
        before = db.document("c/x").set({}).update_time
        assert run("reset", "--yes", "--address", other.address) == (0, "1 documents removed\n")
        assert not db.document("c/x").get().exists
        assert db.document("c/x").set({}).update_time > before


def test_stats_show_who_was_billed(other: ServerProcess) -> None:
    with client(other.address, caller="reaper") as db:
        db.document("c/x").get()
    code, output = run("stats", "--address", other.address)
    assert (code, "reaper" in output) == (0, True)


def test_health_of_a_server_and_of_none(firestore_server: ServerProcess) -> None:
    assert run("health", "--address", firestore_server.address) == (0, "serving\n")
    code, output = run("health", "--address", "127.0.0.1:1")
    assert code == 69
    assert "start one, or correct the address" in output


def test_no_address_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)
    code, output = run("stats")
    assert (code, output.count("\n")) == (69, 1)


@pytest.mark.parametrize("line", ["no json", '{"name": 5}', '{"name": "x", "fields": {"a": {"nope": 1}}}'])
def test_a_line_that_is_no_document_names_itself(firestore_server: ServerProcess, tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    code, output = run("import", str(path), "--address", firestore_server.address)
    assert code == 69
    assert "Line 1 is no exported document" in output


def test_an_unknown_admin_call_is_refused(firestore_server: ServerProcess) -> None:
    with admin(firestore_server.address) as service, pytest.raises(AdminError):
        service.ask("Nothing")
