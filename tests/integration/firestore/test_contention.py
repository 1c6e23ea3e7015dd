"""Many processes on few documents: nothing acknowledged is lost, and nothing is applied twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.api_core import exceptions

from mos.local.firestore import contention
from mos.local.firestore.testing import ServerProcess, client, server


@pytest.fixture
def contended(locking: str) -> Iterator[ServerProcess]:
    with server("--locking", locking, "--lock-timeout", "5") as running:
        yield running


def test_increments_by_eight_processes_end_exactly(contended: ServerProcess) -> None:
    outcome = contention.increments(contended.address, processes=8, each=50)
    assert outcome.acknowledged == 400
    assert outcome.is_exact, outcome


def test_a_lease_taken_by_eight_processes_has_one_winner(contended: ServerProcess) -> None:
    assert contention.lease_winners(contended.address, processes=8, rounds=3) == [1, 1, 1]


def test_a_server_killed_under_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = str(tmp_path / "data.db")
    running = ServerProcess(["--data", path])
    acknowledged: list[str] = []
    enough, killed = threading.Event(), threading.Event()

    def load(worker: int) -> None:
        with client(running.address, "contention") as db:
            n = 0
            while not killed.is_set():
                token, n = f"{worker}-{n}", n + 1
                try:
                    if not contention.definite(lambda: contention.increment(db, token)):  # noqa: B023 - called at once
                        continue
                except (exceptions.GoogleAPICallError, ValueError):
                    return
                acknowledged.append(token)
                if len(acknowledged) >= 60:
                    enough.set()

    with client(running.address, "contention") as db:
        db.document("contention/counter").set({"n": 0})
    team = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(3)]
    for member in team:
        member.start()
    assert enough.wait(60)
    running.kill()
    killed.set()
    with server("--data", path, port=running.port) as again, client(again.address, "contention") as db:
        for member in team:
            member.join(60)
        records = {s.id: s.get("n") for s in db.collection("records").stream()}
        total = db.document("contention/counter").get().get("n")
    assert set(acknowledged) <= set(records)
    assert sorted(records.values()) == list(range(1, total + 1)), "a transaction is half applied or applied twice"


def test_clients_killed_at_random_leave_no_lock_and_no_half_transaction(locking: str) -> None:
    kill_clients(locking, each=40, kills=5)


@pytest.mark.prove
def test_many_transactions_survive_many_killed_clients(locking: str) -> None:
    kill_clients(locking, each=200, kills=20)


def kill_clients(locking: str, *, each: int, kills: int) -> None:
    with server("--locking", locking, "--idle-seconds", "1", "--lock-timeout", "4") as running:
        outcome = contention.killed_clients(running.address, processes=4, each=each, kills=kills)
        with client(running.address, "contention") as db:
            db.document("contention/counter").update({"n": 0})
    assert outcome.kills == kills
    assert outcome.acknowledged >= 4 * each
    assert outcome.lost == []
    assert outcome.torn == []
