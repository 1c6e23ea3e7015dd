"""Queries: every operator, order, cursor form and limit, through the stock client."""

from __future__ import annotations

import math
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore import Client, Query
from google.cloud.firestore_v1.base_query import And, BaseQuery, FieldFilter, Or
from google.cloud.firestore_v1.vector import Vector

from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ManualClock

ORDERED: list[Any] = [
    None,
    False,
    True,
    math.nan,
    -math.inf,
    -1,
    0.5,
    2**53,
    2**53 + 1,
    math.inf,
    "",
    "a",
    "a\x00",
    "b",
    b"",
    b"\xff",
    firestore.GeoPoint(0, 0),
    firestore.GeoPoint(0, 1),
    [],
    [1],
    [1, 2],
    [2],
    Vector([9.0]),
    Vector([1.0, 1.0]),
    {},
    {"a": 1},
    {"a": 2},
    {"b": 0},
]


def ids(query: BaseQuery) -> list[str]:
    return [snapshot.id for snapshot in query.stream()]


def where(query: Any, field: str, op: str, value: Any) -> Any:
    return query.where(filter=FieldFilter(field, op, value))


@pytest.fixture
def numbers(db: Client) -> Any:
    """Documents 0 to 9 with n, its parity and its divisors."""
    for n in range(10):
        tags = [f"by{d}" for d in (2, 3) if n % d == 0]
        db.document(f"numbers/{n}").set({"n": n, "odd": bool(n % 2), "tags": tags})
    return db.collection("numbers")


def test_values_of_all_types_sort_as_firestore_sorts_them(db: Client) -> None:
    for at, value in enumerate(ORDERED):
        db.document(f"c/{len(ORDERED) - at:02}").set({"v": value})
    expected = [f"{len(ORDERED) - at:02}" for at in range(len(ORDERED))]
    assert ids(db.collection("c").order_by("v")) == expected
    assert ids(db.collection("c").order_by("v", direction=Query.DESCENDING)) == expected[::-1]


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("==", 3, "3"),
        ("<", 2, "01"),
        ("<=", 2, "012"),
        (">", 7, "89"),
        (">=", 7, "789"),
        ("!=", 3, "012456789"),
        ("in", [8, 1, 1, 77], "18"),
        ("not-in", [0, 1, 2, 3, 4, 5, 6], "789"),
    ],
)
def test_operators_on_numbers(numbers: Any, op: str, value: Any, expected: str) -> None:
    assert ids(where(numbers, "n", op, value)) == list(expected)


def test_operators_on_arrays(numbers: Any) -> None:
    assert ids(where(numbers, "tags", "array_contains", "by3")) == ["0", "3", "6", "9"]
    assert ids(where(numbers, "tags", "array_contains_any", ["by2", "by3"])) == ["0", "2", "3", "4", "6", "8", "9"]


def test_ranges_compare_within_a_type_only(db: Client) -> None:
    for name, value in {"a": 1, "b": "1", "c": None, "d": True, "e": 2.5}.items():
        db.document(f"c/{name}").set({"v": value})
    assert ids(where(db.collection("c"), "v", ">", 0)) == ["a", "e"]
    assert ids(where(db.collection("c"), "v", "!=", 1)) == ["d", "e", "b"]


def test_a_document_without_an_ordered_field_is_absent(db: Client) -> None:
    db.document("c/with").set({"a": 1})
    db.document("c/without").set({"b": 1})
    assert ids(db.collection("c").order_by("a")) == ["with"]
    assert ids(where(db.collection("c"), "a", "!=", 5)) == ["with"]


def test_and_or_nest(numbers: Any) -> None:
    small_even = And([FieldFilter("n", "<", 4), FieldFilter("odd", "==", False)])
    query = numbers.where(filter=Or([small_even, FieldFilter("n", "in", [7, 8, 2])])).order_by("n")
    assert ids(query) == ["0", "2", "7", "8"]
    assert ids(query.order_by("__name__").limit(2).offset(1)) == ["2", "7"]


def test_a_disjunction_sorts_by_its_inequality_and_wants_the_field(db: Client) -> None:
    db.document("c/a").set({"n": 5, "k": 1})
    db.document("c/b").set({"k": 1})
    db.document("c/c").set({"n": 3})
    assert ids(db.collection("c").where(filter=Or([FieldFilter("n", ">", 2), FieldFilter("k", "==", 1)]))) == ["c", "a"]


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        (lambda q, s: q.start_at({"n": 3}), [3, 2, 1, 0]),
        (lambda q, s: q.start_after({"n": 3}), [2, 1, 0]),
        (lambda q, s: q.end_at({"n": 7}), [9, 8, 7]),
        (lambda q, s: q.end_before({"n": 7}), [9, 8]),
        (lambda q, s: q.start_after(s).limit(2), [4, 3]),
        (lambda q, s: q.start_at({"n": 6}).end_before({"n": 3}), [6, 5, 4]),
        (lambda q, s: q.limit_to_last(2), [1, 0]),
    ],
    ids=["start at", "start after", "end at", "end before", "behind a snapshot", "both", "limit to last"],
)
def test_cursors(numbers: Any, cursor: Any, expected: list[int]) -> None:
    query = cursor(numbers.order_by("n", direction=Query.DESCENDING), numbers.document("5").get())
    assert [snapshot.get("n") for snapshot in query.get()] == expected


def test_equal_values_are_told_apart_by_name_in_cursors(db: Client) -> None:
    for name in "abcd":
        db.document(f"c/{name}").set({"v": 1})
    query = db.collection("c").order_by("v").order_by("__name__")
    assert ids(query.start_after({"v": 1, "__name__": db.document("c/b")})) == ["c", "d"]


def test_document_ids_sort_by_bytes_and_numeric_ones_first(db: Client) -> None:
    for name in ("__id10__", "__id9__", "a", "B", "ä", "10", "9"):
        db.document(f"c/{name}").set({})
    assert ids(db.collection("c")) == ["__id9__", "__id10__", "10", "9", "B", "a", "ä"]


def test_a_projection_gives_only_its_fields(numbers: Any) -> None:
    assert next(iter(numbers.select(["n"]).limit(1).stream())).to_dict() == {"n": 0}
    assert next(iter(numbers.select([]).limit(1).stream())).to_dict() == {}


def test_a_collection_group_spans_parents(db: Client) -> None:
    for path in ("parts/0", "a/1/parts/x", "b/2/parts/y", "b/2/others/z"):
        db.document(path).set({"n": len(path)})
    assert ids(db.collection_group("parts")) == ["x", "y", "0"]
    assert ids(db.collection_group("parts").where(filter=FieldFilter("n", ">", 7)).order_by("n")) == ["x", "y"]


def test_a_recursive_delete_finds_everything_below(db: Client) -> None:
    for path in ("a/1", "a/1/b/2", "a/1/b/2/c/3", "ab/1"):
        db.document(path).set({})
    assert db.recursive_delete(db.collection("a")) == 3
    assert [c.id for c in db.collections()] == ["ab"]


def test_aggregations(numbers: Any) -> None:
    odd = where(numbers, "odd", "==", True)
    (row,) = odd.count(alias="count").sum("n", alias="sum").avg("n", alias="avg").get()
    assert {item.alias: item.value for item in row} == {"count": 5, "sum": 25, "avg": 5.0}
    assert numbers.limit(3).count().get()[0][0].value == 3


def test_a_count_can_stop_early(numbers: Any) -> None:
    client = numbers._client
    request = {
        "parent": f"{client._database_string}/documents",
        "structured_aggregation_query": {
            "structured_query": numbers._to_protobuf()
            if hasattr(numbers, "_to_protobuf")
            else numbers.limit(99)._to_protobuf(),
            "aggregations": [{"alias": "n", "count": {"up_to": 4}}],
        },
    }
    (answer,) = client._firestore_api.run_aggregation_query(request=request)
    assert answer.result.aggregate_fields["n"].integer_value == 4


@pytest.mark.parametrize(
    "ask",
    [
        lambda q: where(q, "n", "in", list(range(31))),
        lambda q: where(q, "n", "not-in", list(range(11))),
        lambda q: where(where(q, "n", "!=", 1), "m", "not-in", [1]),
        lambda q: where(where(q, "n", "in", [1, 2, 3, 4, 5, 6]), "m", "in", [1, 2, 3, 4, 5, 6]),
        lambda q: where(where(q, "a", "array_contains", 1), "b", "array_contains", 1),
        lambda q: where(where(q, "n", "in", [1]), "m", "not-in", [1]),
        lambda q: q.limit(-1),
        lambda q: q.order_by("__name__").order_by("n"),
    ],
    ids=["in 31", "not-in 11", "two exclusions", "36 disjuncts", "two arrays", "in with not-in", "limit", "after name"],
)
def test_what_firestore_does_not_allow_is_an_invalid_argument(db: Client, ask: Any) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        ids(ask(db.collection("c")))


# Reading at an earlier time


def test_a_query_at_an_earlier_time_sees_what_was(db: Client, numbers: Any) -> None:
    then = db.document("numbers/5").get().update_time
    for n in (3, 4):
        db.document(f"numbers/{n}").delete()
    db.document("numbers/0").update({"n": 50})
    numbers.document("x").set({"n": 1.5})
    last = db.document("numbers/9").get().update_time
    early = numbers.order_by("n")
    assert [s.id for s in early.stream(read_time=last)] == [str(n) for n in range(10)]
    assert [s.id for s in early.stream(read_time=then)] == [str(n) for n in range(6)]
    assert ids(early) == ["1", "x", "2", "5", "6", "7", "8", "9", "0"]
    assert db.document("numbers/3").get(read_time=last).get("n") == 3
    assert numbers.count().get(read_time=last)[0][0].value == 10


def test_times_over_an_hour_ago_and_ahead_are_refused(db: Client, clock: ManualClock) -> None:
    ref = db.document("c/x")
    then = ref.set({"n": 1}).update_time
    ref.set({"n": 2})
    clock.advance(3601)
    with pytest.raises(exceptions.FailedPrecondition, match="too old"):
        ref.get(read_time=then)
    clock.advance(-7200)
    with pytest.raises(exceptions.InvalidArgument, match="future"):
        ref.get(read_time=clock.now.replace(year=2050))


def test_history_does_not_grow_without_bound(engine: Engine, db: Client, clock: ManualClock) -> None:
    for n in range(300):
        db.document("c/x").set({"n": n})
        clock.advance(60)
    assert len(engine.store.history) <= 61


# What a query costs


def test_twenty_of_many_cost_what_twenty_cost(db: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its index is kept, a query touches no more documents than it returns."""
    from mos.local.firestore.mutation import Doc

    for start in range(0, 1000, 500):
        batch = db.batch()
        for n in range(start, start + 500):
            batch.set(db.document(f"c/{n}"), {"status": "running", "checkBy": "r", "checkAt": n})
        batch.commit()
    due = where(where(where(db.collection("c"), "status", "==", "running"), "checkBy", "==", "r"), "checkAt", "<=", 900)
    query = due.order_by("checkAt").limit(20)
    expected = [str(n) for n in range(20)]
    assert ids(query) == expected
    parsed = []
    original = Doc.parsed
    monkeypatch.setattr(Doc, "parsed", lambda doc: parsed.append(doc.name) or original(doc))
    assert ids(query) == expected
    assert parsed == []
    db.document("c/5").update({"status": "completed"})
    assert ids(query) == [*expected[:5], *expected[6:], "20"]


def test_another_database_of_the_same_engine_is_apart(engine: Engine) -> None:
    one, two = connect(engine, "one"), connect(engine, "two")
    one.document("c/x").set({"n": 1})
    assert ids(two.collection("c")) == []
    assert ids(two.collection_group("c")) == []
