"""Rates of the embedded Firestore server, beside Google's emulator in the same run where that is on the machine.

`python bench/firestore.py [--quick]` prints a table and writes bench/results/firestore.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import BaseQuery, FieldFilter
from rich.console import Console
from rich.table import Table

from mos.local.firestore import oracle
from mos.local.firestore.clock import stamp
from mos.local.firestore.encoding import name_key
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.messages import Document
from mos.local.firestore.mutation import Doc
from mos.local.firestore.storage import Sqlite
from mos.local.firestore.store import Change
from mos.local.firestore.testing import client, server

RESULTS = Path(__file__).parent / "results" / "firestore.json"
FEW, MANY = 1_000, 100_000
LARGE = 200_000
BATCH = 500
PATIENCE_SECONDS = 4.0


@dataclass
class Figures:
    """What one server did."""

    name: str
    rates: dict[str, float] = field(default_factory=dict)

    def rate(self, label: str, count: int, work: Callable[[int], Any]) -> None:
        """Calls per second of `work`: `count` calls, or as many as fit into a few seconds, after one to warm up."""
        work(0)
        begun = time.perf_counter()
        done = 0
        while done < count and time.perf_counter() - begun < PATIENCE_SECONDS:
            work(done)
            done += 1
        self.rates[label] = done / (time.perf_counter() - begun)


def bump(db: firestore.Client, path: str) -> None:
    """One get-and-set transaction."""

    @firestore.transactional
    def work(transaction: firestore.Transaction) -> None:
        snapshot = db.document(path).get(transaction=transaction)
        transaction.set(db.document(path), {"n": (snapshot.get("n") if snapshot.exists else 0) + 1})

    work(db.transaction())


def oldest(db: firestore.Client, collection: str) -> BaseQuery:
    """The reaper's question: the 20 oldest running tasks that are due."""
    return (
        db.collection(collection)
        .where(filter=FieldFilter("status", "==", "running"))
        .where(filter=FieldFilter("checkBy", "==", "reaper"))
        .where(filter=FieldFilter("checkAt", "<=", 10**9))
        .order_by("checkAt")
        .limit(20)
    )


def fill(db: firestore.Client, collection: str, count: int) -> None:
    """Documents as the reaper looks for."""
    for start in range(0, count, BATCH):
        batch = db.batch()
        for n in range(start, min(start + BATCH, count)):
            content = {"status": "running", "checkBy": "reaper", "checkAt": n, "note": "x" * 200}
            batch.set(db.document(f"{collection}/{n}"), content)
        batch.commit()


def measure(name: str, db: firestore.Client, scale: float) -> Figures:
    """All rates of one server."""
    figures = Figures(name)
    print(f"measuring {name} ...", flush=True)
    calls = int(1000 * scale)
    small = {"status": "running", "n": 1, "text": "x" * 100}
    figures.rate("set", calls, lambda n: db.document(f"set/{n}").set(small))
    figures.rate("get", calls, lambda n: db.document(f"set/{n}").get())
    figures.rate("transaction (get + set)", int(300 * scale), lambda n: bump(db, f"tx/{n % 10}"))
    figures.rate("batched writes of 100", int(20 * scale) or 1, lambda n: hundred(db, n, small))
    figures.rates["documents written in batches"] = figures.rates.pop("batched writes of 100") * 100
    for collection, count in (("few", FEW), ("many", int(MANY * scale))):
        fill(db, collection, count)
        for _ in range(3):
            list(oldest(db, collection).stream())
        asked = oldest(db, collection)
        figures.rate(f"20 oldest of {count:,}", int(200 * scale), lambda _, asked=asked: list(asked.stream()))
    figures.rate(f"count of {count:,}", int(50 * scale), lambda _: db.collection("many").count().get())
    return figures


def hundred(db: firestore.Client, number: int, content: dict[str, Any]) -> None:
    """One batched write of a hundred documents."""
    batch = db.batch()
    for n in range(100):
        batch.set(db.document(f"batch/{number}-{n}"), content)
    batch.commit()


def large_store(count: int) -> dict[str, float]:
    """Seconds until a server with so many documents of 1 KB is ready, and its memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.db"
        storage = Sqlite(path)
        for start in range(0, count, 10_000):
            storage.save((Change(doc.name, None, doc) for doc in large_documents(start, 10_000)), 1)
        storage.close()
        begun = time.perf_counter()
        with server("--data", str(path)) as running:
            opened = time.perf_counter() - begun
            memory = psutil.Process(running.process.pid).memory_info().rss / 2**20
            with client(running.address) as db:
                begun = time.perf_counter()
                list(db.collection("large").order_by("n").limit(20).stream())
                first = time.perf_counter() - begun
            after = psutil.Process(running.process.pid).memory_info().rss / 2**20
    return {"documents": count, "open_s": opened, "memory_mb": memory, "first_query_s": first, "indexed_mb": after}


def large_documents(start: int, count: int) -> Iterator[Doc]:
    """Documents of 1 KB, made without a server."""
    for n in range(start, start + count):
        name = f"projects/demo/databases/(default)/documents/large/{n:07}"
        document = Document(name=name, create_time=stamp(1), update_time=stamp(1))
        document.fields["n"].integer_value = n
        document.fields["text"].string_value = "x" * 880
        data = document.SerializeToString(deterministic=True)
        yield Doc(name=name, key=name_key(name), data=data, created=1, updated=1)


@contextmanager
def servers() -> Iterator[list[tuple[str, firestore.Client]]]:
    """Ours over a socket (durable), ours in process, and Google's where it is present."""
    program = oracle.find()
    with (
        tempfile.TemporaryDirectory() as folder,
        server("--data", f"{folder}/bench.db") as ours,
        client(ours.address) as remote,
    ):
        found = [("embedded server, SQLite", remote), ("in process", connect(Engine()))]
        if program is None:
            print("cloud_firestore_emulator is not on this machine: no comparison with it.")
            yield found
            return
        with oracle.running(program) as address, client(address) as google:
            yield [*found, ("Google's emulator", google)]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    scale = 0.1 if parser.parse_args().quick else 1.0
    with servers() as found:
        measured = [measure(name, db, scale) for name, db in found]
    large = large_store(int(LARGE * scale))
    report(measured, large)
    ratios = {item.name: ratio(item) for item in measured}
    RESULTS.parent.mkdir(exist_ok=True)
    content = {"per_second": {m.name: m.rates for m in measured}, "oldest_20_ratio": ratios, "large_store": large}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")


def ratio(figures: Figures) -> float:
    """How many times longer the query takes on the large collection than on the small one."""
    few, many = (rate for label, rate in figures.rates.items() if label.startswith("20 oldest"))
    return few / many


def report(measured: list[Figures], large: dict[str, float]) -> None:
    """Print the table."""
    table = Table(title="calls per second, one client", caption="slower than the last column: marked with *")
    table.add_column("")
    for item in measured:
        table.add_column(item.name, justify="right")
    for label in measured[0].rates:
        row = [item.rates[label] for item in measured]
        slower = ["*" if len(row) > 2 and rate < row[-1] else "" for rate in row]
        table.add_row(label, *(f"{rate:,.0f}{mark}" for rate, mark in zip(row, slower, strict=True)))
    table.add_row("time of 20 oldest: many / few", *(f"{ratio(item):.2f}" for item in measured))
    Console().print(table)
    print(
        f"{large['documents']:,.0f} documents of 1 KB: open in {large['open_s']:.1f} s, {large['memory_mb']:.0f} MB; "
        f"first ordered query (builds its index) {large['first_query_s']:.1f} s, then {large['indexed_mb']:.0f} MB"
    )


if __name__ == "__main__":
    main()
