"""Documents: what the stock client writes is what it reads, and preconditions hold."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore import Client
from google.cloud.firestore_v1.vector import Vector

from mos.local.firestore.testing import ManualClock


def fields(db: Client, path: str) -> dict[str, object] | None:
    return db.document(path).get().to_dict()


def test_every_type_of_value_comes_back_as_it_was_written(db: Client) -> None:
    content = {
        "null": None,
        "yes": True,
        "int": 2**63 - 1,
        "float": -0.5,
        "time": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "text": "ß\x00`quoted`",
        "bytes": b"\x00\xff",
        "reference": db.document("a/b"),
        "point": firestore.GeoPoint(1.5, -2.5),
        "array": [1, {"a": [2]}],
        "map": {"a.b": {"c": 1}},
        "vector": Vector([1.0, 2.0]),
    }
    db.document("d/all").set(content)
    assert fields(db, "d/all") == content


def test_times_of_a_document_grow_with_each_write_even_if_the_clock_stands_still(db: Client) -> None:
    ref = db.document("d/x")
    times = [ref.set({"n": n}).update_time for n in range(3)]
    assert times == sorted(set(times))
    snapshot = ref.get()
    assert snapshot.create_time == times[0]
    assert snapshot.update_time == times[2]


def test_times_grow_when_the_clock_goes_back(db: Client, clock: ManualClock) -> None:
    first = db.document("d/x").set({"n": 1}).update_time
    clock.advance(-3600)
    assert db.document("d/x").set({"n": 2}).update_time == first + timedelta(microseconds=1)


def test_a_write_that_changes_nothing_keeps_the_update_time(db: Client) -> None:
    ref = db.document("d/x")
    before = ref.set({"n": 1}).update_time
    assert ref.set({"n": 1}).update_time == before
    assert ref.set({"n": 1.0}).update_time > before


def test_create_refuses_an_existing_document(db: Client) -> None:
    db.document("d/x").create({"n": 1})
    with pytest.raises(exceptions.AlreadyExists):
        db.document("d/x").create({"n": 2})
    assert fields(db, "d/x") == {"n": 1}


def test_update_of_a_missing_document_is_not_found(db: Client) -> None:
    with pytest.raises(exceptions.NotFound):
        db.document("d/x").update({"n": 1})


def test_an_update_time_precondition_admits_only_the_current_version(db: Client) -> None:
    ref = db.document("d/x")
    old = ref.set({"n": 1}).update_time
    new = ref.set({"n": 2}).update_time
    with pytest.raises(exceptions.FailedPrecondition):
        ref.update({"n": 3}, option=db.write_option(last_update_time=old))
    ref.update({"n": 4}, option=db.write_option(last_update_time=new))
    assert fields(db, "d/x") == {"n": 4}


def test_an_update_time_precondition_on_a_missing_document_fails(db: Client, clock: ManualClock) -> None:
    past = db.document("d/other").set({}).update_time
    with pytest.raises(exceptions.FailedPrecondition):
        db.document("d/x").delete(option=db.write_option(last_update_time=past))


def test_an_update_time_in_the_future_is_an_invalid_argument(db: Client) -> None:
    from google.protobuf.timestamp_pb2 import Timestamp

    future = Timestamp(seconds=4_000_000_000)
    with pytest.raises(exceptions.InvalidArgument):
        db.document("d/x").delete(option=db.write_option(last_update_time=future))


def test_nested_paths_with_odd_names_are_set_and_deleted(db: Client) -> None:
    ref = db.document("d/x")
    ref.set({"a": {"b c": {"d`e": 1, "keep": 2}}})
    ref.update({"a.`b c`.`d\\`e`": firestore.DELETE_FIELD, "a.new.deep": 3})
    assert fields(db, "d/x") == {"a": {"b c": {"keep": 2}, "new": {"deep": 3}}}


def test_merge_keeps_what_it_does_not_name(db: Client) -> None:
    ref = db.document("d/x")
    ref.set({"a": {"x": 1, "y": 2}, "b": 1})
    ref.set({"a": {"x": 9}}, merge=True)
    assert fields(db, "d/x") == {"a": {"x": 9, "y": 2}, "b": 1}


def test_transforms_give_the_value_that_was_stored(db: Client) -> None:
    ref = db.document("d/x")
    ref.set({"n": 5, "list": [1, 2, 2], "text": "x"})
    result = ref.update(
        {
            "n": firestore.Increment(2),
            "high": firestore.Maximum(7),
            "low": firestore.Minimum(-1.5),
            "list": firestore.ArrayUnion([2, 3]),
            "text": firestore.Increment(1),
            "at": firestore.SERVER_TIMESTAMP,
        }
    )
    stored = fields(db, "d/x")
    assert stored == {
        "n": 7,
        "high": 7,
        "low": -1.5,
        "list": [1, 2, 2, 3],
        "text": 1,
        "at": ref.get().update_time,
    }
    assert len(result.transform_results) == 6
    ref.update({"list": firestore.ArrayRemove([2])})
    assert fields(db, "d/x")["list"] == [1, 3]


def test_increments_saturate_and_mix_with_floats(db: Client) -> None:
    ref = db.document("d/x")
    ref.set({"big": 2**63 - 1, "n": 1})
    ref.update({"big": firestore.Increment(5), "n": firestore.Increment(0.5)})
    assert fields(db, "d/x") == {"big": 2**63 - 1, "n": 1.5}


def test_maximum_compares_numbers_across_types_exactly(db: Client) -> None:
    ref = db.document("d/x")
    ref.set({"n": 2**53})
    ref.update({"n": firestore.Maximum(float(2**53))})
    assert isinstance(fields(db, "d/x")["n"], int)
    ref.update({"n": firestore.Maximum(math.inf)})
    assert fields(db, "d/x")["n"] == math.inf


def test_a_batch_is_applied_whole_or_not_at_all(db: Client) -> None:
    batch = db.batch()
    batch.set(db.document("d/a"), {"n": 1})
    batch.update(db.document("d/missing"), {"n": 1})
    with pytest.raises(exceptions.NotFound):
        batch.commit()
    assert fields(db, "d/a") is None


def test_writes_of_one_batch_see_each_other_in_order(db: Client) -> None:
    ref = db.document("d/a")
    batch = db.batch()
    batch.set(ref, {"n": 1})
    batch.update(ref, {"n": firestore.Increment(1)})
    batch.delete(ref)
    batch.create(ref, {"n": 9})
    batch.commit()
    assert fields(db, "d/a") == {"n": 9}


def test_get_all_gives_found_before_missing_and_each_once(db: Client) -> None:
    db.document("d/b").set({"n": 1})
    names = ["d/z", "d/b", "d/b"]
    got = [(snapshot.reference.path, snapshot.exists) for snapshot in db.get_all([db.document(n) for n in names])]
    assert got == [("d/b", True), ("d/z", False)]


def test_a_field_mask_reads_only_what_it_names(db: Client) -> None:
    db.document("d/a").set({"a": {"b": 1, "c": 2}, "d": 3})
    assert db.document("d/a").get(field_paths=["a.b"]).to_dict() == {"a": {"b": 1}}


@pytest.mark.parametrize(
    "content",
    [
        {"__reserved__": 1},
        {"a": "x" * 1_048_488},
        {"a": [[1]]},
    ],
    ids=["reserved field", "string too long", "array in array"],
)
def test_what_firestore_cannot_hold_is_an_invalid_argument(db: Client, content: dict[str, object]) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        db.document("d/x").set(content)


def test_nesting_ends_twenty_levels_below_the_document(db: Client) -> None:
    def nested(depth: int) -> dict[str, object]:
        return {"a": nested(depth - 1)} if depth > 1 else {"a": 1}

    db.document("d/x").set(nested(21))
    with pytest.raises(exceptions.InvalidArgument):
        db.document("d/x").set(nested(22))


def test_a_document_over_one_mebibyte_is_refused(db: Client) -> None:
    half = "x" * (1 << 19)
    with pytest.raises(exceptions.InvalidArgument, match="exceeds the maximum"):
        db.document("d/x").set({"a": half, "b": half})


def test_a_request_over_ten_mebibytes_is_refused(db: Client) -> None:
    batch = db.batch()
    for n in range(11):
        batch.set(db.document(f"d/{n}"), {"a": "x" * 1_000_000})
    with pytest.raises(exceptions.InvalidArgument, match="payload size"):
        batch.commit()


def test_timestamps_are_truncated_to_microseconds(db: Client) -> None:
    from google.cloud.firestore_v1 import types
    from proto.datetime_helpers import DatetimeWithNanoseconds

    moment = DatetimeWithNanoseconds(2026, 1, 1, nanosecond=123456789, tzinfo=UTC)
    write = types.Write(
        update={"name": db.document("d/x")._document_path, "fields": {"t": {"timestamp_value": moment}}}
    )
    db._firestore_api.commit(request={"database": db._database_string, "writes": [write]})
    assert fields(db, "d/x")["t"].microsecond == 123456


@pytest.mark.parametrize("path", ["d/..", "d/__x__", "__x__/y"])
def test_reserved_ids_are_refused(db: Client, path: str) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        db.document(path).set({})


def test_collections_are_listed_with_their_subcollections(db: Client) -> None:
    db.document("a/1").set({})
    db.document("b/missing/c/1").set({})
    assert [c.id for c in db.collections()] == ["a", "b"]
    assert [c.id for c in db.document("b/missing").collections()] == ["c"]


def test_listing_shows_missing_parents(db: Client) -> None:
    db.document("a/1").set({})
    db.document("a/2/sub/x").set({})
    assert [ref.id for ref in db.collection("a").list_documents()] == ["1", "2"]


def test_listing_pages_through_everything_once(db: Client) -> None:
    for n in range(7):
        db.document(f"a/{n}").set({"n": n})
    assert [ref.id for ref in db.collection("a").list_documents(page_size=2)] == [str(n) for n in range(7)]


def test_batch_write_answers_each_write_on_its_own(db: Client) -> None:
    from google.cloud.firestore_v1 import types

    def write(path: str, *, exists: bool) -> types.Write:
        name = db.document(path)._document_path
        return types.Write(update={"name": name}, current_document={"exists": exists})

    response = db._firestore_api.batch_write(
        request={"database": db._database_string, "writes": [write("d/a", exists=False), write("d/b", exists=True)]}
    )
    assert [status.code for status in response.status] == [0, 5]
    assert fields(db, "d/a") == {}


def test_another_project_is_refused_where_one_was_given() -> None:
    from mos.local.firestore.inprocess import Engine, connect

    with pytest.raises(exceptions.NotFound, match="project mine"):
        connect(Engine(project="mine"), "other").document("d/x").set({})
