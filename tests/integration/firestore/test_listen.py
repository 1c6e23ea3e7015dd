"""Listening through the stock client's watch, and the messages underneath it."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.firestore import Client
from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.local.firestore.testing import ServerProcess, client, server

PATIENCE = 20.0


class Seen:
    """What a watch has called back with: ids of the documents, and the kinds of change."""

    def __init__(self) -> None:
        self._calls: queue.Queue[tuple[list[str], list[str]]] = queue.Queue()

    def __call__(self, documents: Any, changes: Any, read_time: Any) -> None:
        self._calls.put(([snapshot.id for snapshot in documents], [change.type.name for change in changes]))

    def next(self) -> tuple[list[str], list[str]]:
        return self._calls.get(timeout=PATIENCE)


def test_a_document_is_seen_coming_changing_and_going(remote: Client) -> None:
    seen = Seen()
    ref = remote.document("c/x")
    watch = ref.on_snapshot(seen)
    assert seen.next() == ([], [])
    ref.set({"n": 1})
    assert seen.next() == (["x"], ["ADDED"])
    ref.set({"n": 2})
    assert seen.next() == (["x"], ["MODIFIED"])
    ref.delete()
    assert seen.next() == ([], ["REMOVED"])
    watch.unsubscribe()


def test_a_query_is_seen_in_its_order(remote: Client) -> None:
    for n in (3, 1):
        remote.document(f"c/{n}").set({"n": n})
    seen = Seen()
    watch = remote.collection("c").where(filter=FieldFilter("n", ">", 0)).order_by("n").on_snapshot(seen)
    assert seen.next() == (["1", "3"], ["ADDED", "ADDED"])
    remote.document("c/2").set({"n": 2})
    assert seen.next() == (["1", "2", "3"], ["ADDED"])
    remote.document("c/2").set({"n": -2})
    assert seen.next() == (["1", "3"], ["REMOVED"])
    watch.unsubscribe()


def test_a_commit_is_seen_whole(remote: Client) -> None:
    seen = Seen()
    watch = remote.collection("c").on_snapshot(seen)
    assert seen.next() == ([], [])
    batch = remote.batch()
    for n in range(3):
        batch.set(remote.document(f"c/{n}"), {"n": n})
    batch.commit()
    assert seen.next() == (["0", "1", "2"], ["ADDED"] * 3)
    watch.unsubscribe()


def test_a_limit_lets_the_next_one_move_up(remote: Client) -> None:
    for n in range(3):
        remote.document(f"c/{n}").set({"n": n})
    seen = Seen()
    watch = remote.collection("c").order_by("n").limit(2).on_snapshot(seen)
    assert seen.next()[0] == ["0", "1"]
    remote.document("c/0").delete()
    assert seen.next()[0] == ["1", "2"]
    watch.unsubscribe()


def test_a_watch_survives_a_restart_of_the_server(tmp_path: Any) -> None:
    running = ServerProcess(["--data", str(tmp_path / "data.db")])
    with client(running.address) as db:
        db.document("c/1").set({"n": 1})
        db.document("c/2").set({"n": 2})
        seen = Seen()
        watch = db.collection("c").on_snapshot(seen)
        assert seen.next()[0] == ["1", "2"]
        running.kill()
        with server("--data", str(tmp_path / "data.db"), port=running.port):
            db.document("c/3").set({"n": 3})
            db.document("c/1").delete()
            assert "3" in seen.next()[0] or "3" in seen.next()[0]
            watch.unsubscribe()


# The messages underneath


class Stream:
    """A listen stream by hand."""

    def __init__(self, db: Client) -> None:
        self._db = db
        self._requests: queue.Queue[types.ListenRequest | None] = queue.Queue()
        self._answers = db._firestore_api._transport.listen(iter(self._requests.get, None))

    def add(self, **target: Any) -> None:
        self._requests.put(types.ListenRequest(database=self._db._database_string, add_target=target))

    def remove(self, target_id: int) -> None:
        self._requests.put(types.ListenRequest(database=self._db._database_string, remove_target=target_id))

    def close(self) -> None:
        self._requests.put(None)
        self._answers.cancel()

    def until_consistent(self) -> list[tuple[Any, ...]]:
        """The messages up to a NO_CHANGE without targets, shortened; its resume token is kept."""
        got: list[tuple[Any, ...]] = []
        for answer in self._answers:
            got.append(short(answer))
            if got[-1] == ("NO_CHANGE",):
                self.token = answer.target_change.resume_token
                return got
        raise AssertionError(got)

    def next(self) -> Any:
        return next(iter(self._answers))


def short(answer: types.ListenResponse) -> tuple[Any, ...]:
    pb = answer._pb
    match pb.WhichOneof("response_type"):
        case "target_change":
            return (answer.target_change.target_change_type.name, *pb.target_change.target_ids)
        case "document_change":
            return ("change", pb.document_change.document.name.rpartition("/")[2], *pb.document_change.target_ids)
        case "filter":
            return ("filter", pb.filter.count)
        case kind:
            gone = getattr(pb, kind)
            return (kind, gone.document.rpartition("/")[2], *gone.removed_target_ids)


@pytest.fixture
def stream(remote: Client) -> Iterator[Stream]:
    made = Stream(remote)
    yield made
    made.close()


def documents(db: Client, *paths: str) -> dict[str, Any]:
    return {"documents": [db.document(path)._document_path for path in paths]}


def query(db: Client, collection: str) -> dict[str, Any]:
    return {
        "parent": f"{db._database_string}/documents",
        "structured_query": {"from_": [{"collection_id": collection}]},
    }


def test_several_targets_share_a_stream(remote: Client, stream: Stream) -> None:
    remote.document("c/x").set({})
    stream.add(target_id=1, documents=documents(remote, "c/x", "c/y"))
    assert stream.until_consistent() == [
        ("ADD", 1),
        ("change", "x", 1),
        ("document_delete", "y", 1),
        ("CURRENT", 1),
        ("NO_CHANGE",),
    ]
    stream.add(target_id=2, query=query(remote, "c"))
    assert stream.until_consistent() == [("ADD", 2), ("change", "x", 2), ("CURRENT", 2), ("NO_CHANGE",)]
    remote.document("c/x").set({"n": 1})
    assert stream.until_consistent() == [("change", "x", 1), ("change", "x", 2), ("NO_CHANGE",)]
    stream.remove(1)
    assert short(stream.next()) == ("REMOVE", 1)
    remote.document("c/x").delete()
    assert stream.until_consistent() == [("document_delete", "x", 2), ("NO_CHANGE",)]


def test_a_target_asked_for_once_is_removed_when_current(remote: Client, stream: Stream) -> None:
    stream.add(target_id=1, query=query(remote, "c"), once=True)
    assert stream.until_consistent() == [("ADD", 1), ("CURRENT", 1), ("REMOVE", 1), ("NO_CHANGE",)]


def test_a_resume_token_brings_only_the_difference_and_a_count(remote: Client, stream: Stream) -> None:
    for name in "abc":
        remote.document(f"c/{name}").set({})
    stream.add(target_id=1, query=query(remote, "c"))
    stream.until_consistent()
    stream.close()
    remote.document("c/b").delete()
    remote.document("c/d").set({})
    again = Stream(remote)
    again.add(target_id=1, query=query(remote, "c"), resume_token=stream.token)
    assert again.until_consistent() == [
        ("ADD", 1),
        ("change", "d", 1),
        ("document_delete", "b", 1),
        ("filter", 3),
        ("CURRENT", 1),
        ("NO_CHANGE",),
    ]
    again.close()


def test_a_resume_token_that_is_too_old_resets(remote: Client, stream: Stream) -> None:
    remote.document("c/x").set({})
    stream.add(target_id=1, query=query(remote, "c"), resume_token=(1).to_bytes(8, "big"))
    assert stream.until_consistent()[:3] == [("ADD", 1), ("RESET", 1), ("change", "x", 1)]


def test_a_query_that_is_refused_removes_its_target_with_the_cause(remote: Client, stream: Stream) -> None:
    bad = query(remote, "c")
    bad["structured_query"]["limit"] = -1
    stream.add(target_id=1, query=bad)
    removed = stream.next()
    assert short(removed) == ("REMOVE", 1)
    assert removed.target_change.cause.code == 3


def test_a_hundred_streams_do_not_hold_up_a_call(firestore_server: ServerProcess, remote: Client) -> None:
    streams = [Stream(remote) for _ in range(100)]
    for made in streams:
        made.add(target_id=1, query=query(remote, "c"))
    for made in streams:
        made.until_consistent()
    remote.document("c/x").set({})
    assert all(("change", "x", 1) in made.until_consistent() for made in streams)
    for made in streams:
        made.close()
