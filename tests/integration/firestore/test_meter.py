"""Reads, writes and deletes are counted as Firestore bills them, per caller."""

from __future__ import annotations

import pytest
from google.cloud import firestore
from google.cloud.firestore import Client
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.local.firestore.admin import admin
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ServerProcess, client


@pytest.fixture
def reaper(engine: Engine, db: Client) -> Client:
    for n in range(5):
        db.document(f"c/{n}").set({"n": n})
    return connect(engine, "demo", caller="reaper")


def reads(engine: Engine) -> int:
    return engine.meter.of("reaper").reads


def test_each_document_looked_up_costs_a_read_even_a_missing_one(engine: Engine, reaper: Client) -> None:
    list(reaper.get_all([reaper.document(f"c/{n}") for n in (0, 1, 99)]))
    assert reads(engine) == 3


def test_a_query_costs_what_it_returns(engine: Engine, reaper: Client) -> None:
    list(reaper.collection("c").order_by("n").limit(3).stream())
    assert reads(engine) == 3


def test_an_empty_query_costs_one_read(engine: Engine, reaper: Client) -> None:
    list(reaper.collection("c").where(filter=FieldFilter("n", ">", 100)).stream())
    assert reads(engine) == 1


def test_skipped_documents_cost_too(engine: Engine, reaper: Client) -> None:
    list(reaper.collection("c").order_by("n").offset(2).limit(1).stream())
    assert reads(engine) == 3


def test_a_count_costs_a_read_per_thousand_entries(engine: Engine, db: Client, reaper: Client) -> None:
    reaper.collection("none").count().get()
    assert reads(engine) == 1
    for start in range(0, 1200, 400):
        batch = db.batch()
        for n in range(start, start + 400):
            batch.set(db.document(f"many/{n}"), {"n": n})
        batch.commit()
    engine.meter.reset()
    reaper.collection("many").count().get()
    assert reads(engine) == 2


def test_writes_and_deletes_are_told_apart(engine: Engine, reaper: Client) -> None:
    batch = reaper.batch()
    batch.set(reaper.document("c/0"), {})
    batch.update(reaper.document("c/1"), {"n": firestore.Increment(1)})
    batch.delete(reaper.document("c/2"))
    batch.commit()
    usage = engine.meter.of("reaper")
    assert (usage.reads, usage.writes, usage.deletes, usage.calls) == (0, 2, 1, 1)


def test_validating_a_transaction_costs_nothing(engine: Engine, reaper: Client) -> None:
    @firestore.transactional
    def work(transaction: firestore.Transaction) -> None:
        list(reaper.collection("c").stream(transaction=transaction))
        transaction.set(reaper.document("d/x"), {})

    work(reaper.transaction())
    assert reads(engine) == 5


def test_callers_are_counted_apart_on_a_server(firestore_server: ServerProcess) -> None:
    with admin(firestore_server.address) as service:
        service.reset_stats()
        with client(firestore_server.address, "meter", caller="one") as one:
            one.document("c/x").set({})
        with client(firestore_server.address, "meter") as nameless:
            nameless.document("c/x").get()
        callers = service.stats()["callers"]
    assert (callers["one"]["writes"], callers["unknown"]["reads"]) == (1, 1)
