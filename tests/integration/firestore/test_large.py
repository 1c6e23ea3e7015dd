"""A large store opens fast and stays small."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mos.local.firestore.clock import stamp
from mos.local.firestore.encoding import name_key
from mos.local.firestore.messages import Document
from mos.local.firestore.mutation import Doc
from mos.local.firestore.storage import Sqlite
from mos.local.firestore.store import Change
from mos.local.firestore.testing import client, server

COUNT = 200_000


def documents() -> Iterator[Doc]:
    for n in range(COUNT):
        name = f"projects/demo/databases/(default)/documents/large/{n:07}"
        document = Document(name=name, create_time=stamp(1), update_time=stamp(1))
        document.fields["n"].integer_value = n
        document.fields["text"].string_value = "x" * 880
        yield Doc(name=name, key=name_key(name), data=document.SerializeToString(), created=1, updated=1)


@pytest.mark.prove
def test_two_hundred_thousand_documents_open_in_five_seconds_and_six_hundred_megabytes(tmp_path: Path) -> None:
    storage = Sqlite(tmp_path / "large.db")
    storage.save((Change(doc.name, None, doc) for doc in documents()), 1)
    storage.close()
    with server("--data", str(tmp_path / "large.db")) as running:
        spent = psutil.Process(running.process.pid).cpu_times()
        assert spent.user + spent.system < 5, "counted in CPU seconds: other work on the machine does not matter"
        with client(running.address) as db:
            oldest = db.collection("large").order_by("n").limit(20)
            assert [snapshot.get("n") for snapshot in oldest.stream()] == list(range(20))
        assert psutil.Process(running.process.pid).memory_info().rss < 600 << 20
