"""The server as a process: readiness, exit codes, durability, and the counter of billed reads."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore import Client
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.local.firestore.testing import ServerProcess, client, server


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mos.local.firestore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    with server() as running:
        running.process.send_signal(number)
        _, errors = running.process.communicate(timeout=10)
        assert (running.process.returncode, errors) == (0, "")


def test_a_taken_port_is_one_sentence_and_exit_69(firestore_server: ServerProcess) -> None:
    second = run("--port", str(firestore_server.port))
    assert second.returncode == 69
    assert second.stderr.count("\n") == 1
    assert "is taken" in second.stderr


def test_a_data_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    path.write_text("this is no database, however long it may be" * 30)
    refused = run("--data", str(path))
    assert refused.returncode == 78
    assert refused.stderr.count("\n") == 1
    assert "choose another" in refused.stderr


def test_a_data_file_in_use_is_one_sentence(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    with server("--data", path):
        refused = run("--data", path)
    assert (refused.returncode, refused.stderr.count("\n")) == (78, 1)


def test_an_index_file_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    refused = run("--indexes", str(tmp_path / "missing.json"))
    assert (refused.returncode, refused.stderr.count("\n")) == (78, 1)


def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    running = ServerProcess(["--data", path])
    with client(running.address) as db:
        for n in range(50):
            db.document(f"d/{n}").set({"n": n})
        db.document("d/0").delete()
        last = db.document("d/1").get().update_time
        running.kill()
    with server("--data", path, port=running.port) as again, client(again.address) as db:
        assert sorted(s.get("n") for s in db.collection("d").stream()) == list(range(1, 50))
        assert db.document("d/1").get().update_time == last
        assert db.document("d/1").set({"n": 1.5}).update_time > last


def test_a_transaction_of_an_earlier_process_is_refused(tmp_path: Path) -> None:
    """Its id must never name a transaction of the new process."""
    path = str(tmp_path / "data.db")
    running = ServerProcess(["--data", path])
    with client(running.address) as db:
        old = db.transaction()
        old._begin()
        running.kill()
    with server("--data", path) as again, client(again.address) as db:
        for _ in range(3):
            db.transaction()._begin()
        old._client = db
        with pytest.raises(exceptions.InvalidArgument):
            old._commit()


def test_the_stock_client_works_over_the_socket(remote: Client) -> None:
    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> int:
        snapshot = remote.document("c/x").get(transaction=transaction)
        number = snapshot.get("n") + 1 if snapshot.exists else 1
        transaction.set(remote.document("c/x"), {"n": number})
        return number

    assert [bump(remote.transaction()) for _ in range(3)] == [1, 2, 3]
    assert [s.id for s in remote.collection("c").where(filter=FieldFilter("n", ">", 2)).stream()] == ["x"]
    assert remote.collection("c").count().get()[0][0].value == 1


def test_an_error_carries_its_status_over_the_socket(remote: Client) -> None:
    with pytest.raises(exceptions.NotFound, match="No document to update"):
        remote.document("d/missing").update({"n": 1})
