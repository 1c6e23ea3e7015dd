"""`firestore.indexes.json` is generated from the declared queries, and never drifts from them."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from mos.store import queries
from mos.store.indexes import EXEMPT, composite, render
from mos.store.queries import ASC, DESC, Query, declared

FILE = Path(__file__).parents[3] / "firestore.indexes.json"


def test_the_file_is_what_the_declarations_say() -> None:
    assert FILE.read_text("utf-8") == render()


def test_every_query_function_is_declared() -> None:
    """One that is not would have no index in production."""
    functions = {
        name for name, one in vars(queries).items() if inspect.isfunction(one) and one.__module__ == queries.__name__
    }
    assert {query.name for query in declared()} == functions - {"declared"}


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (Query("q", "c", (("a", "==", 1),)), None),
        (Query("q", "c", (("a", "==", 1), ("b", "==", 1))), None),
        (Query("q", "c", (("a", ">=", 1),), (("a", ASC),)), None),
        (Query("q", "c", (("a", "in", [1]), ("b", "==", 1))), None),
        (Query("q", "c", (("b", "==", 1), ("a", "==", 1), ("z", "<=", 1)), (("z", ASC),)), ["a", "b", "z"]),
        (Query("q", "c", (("a", "==", 1), ("z", "<=", 1))), ["a", "z"]),
        (Query("q", "c", (("a", "in", [1]),), (("z", DESC),)), ["a", "z"]),
    ],
)
def test_an_equality_with_a_range_or_an_order_on_another_field_needs_an_index(
    query: Query, fields: list[str] | None
) -> None:
    index = composite(query)
    assert (index and [field["fieldPath"] for field in index["fields"]]) == fields


def test_an_index_keeps_the_direction_of_the_order() -> None:
    index = composite(Query("q", "c", (("a", "==", 1),), (("z", DESC),)))
    assert index is not None
    assert [field["order"] for field in index["fields"]] == [ASC, DESC]


def test_what_no_query_uses_is_exempt_and_old_log_entries_expire() -> None:
    overrides = {(o["collectionGroup"], o["fieldPath"]): o for o in json.loads(render())["fieldOverrides"]}
    assert overrides[("recoveryLog", "expireAt")]["ttl"] is True
    for path in [("jobs", "shots"), ("tasks", "input"), ("tasks", "providerCalls"), ("recoveryLog", "changes")]:
        assert overrides[path]["indexes"] == []
    asked = {(q.collection, path.split(".")[0]) for q in declared() for path, *_ in (*q.filters, *q.order)}
    assert not asked & set(EXEMPT)


def test_no_index_is_listed_twice() -> None:
    indexes = [json.dumps(index, sort_keys=True) for index in json.loads(render())["indexes"]]
    assert len(indexes) == len(set(indexes))
