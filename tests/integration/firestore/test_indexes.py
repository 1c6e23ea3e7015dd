"""A query that production would refuse for want of a composite index is refused here, and told which to add."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud.firestore import Client, Query
from google.cloud.firestore_v1.base_query import BaseQuery, FieldFilter, Or

from mos.local.firestore.composites import IndexFileError, load, parse
from mos.local.firestore.inprocess import Engine, connect

INDEXES = [
    {
        "collectionGroup": "tasks",
        "queryScope": "COLLECTION",
        "fields": [
            {"fieldPath": "status", "order": "ASCENDING"},
            {"fieldPath": "checkBy", "order": "ASCENDING"},
            {"fieldPath": "checkAt", "order": "ASCENDING"},
        ],
    },
    {
        "collectionGroup": "tasks",
        "fields": [{"fieldPath": "kind", "order": "ASCENDING"}, {"fieldPath": "checkAt", "order": "ASCENDING"}],
    },
    {
        "collectionGroup": "tasks",
        "fields": [{"fieldPath": "owner", "order": "ASCENDING"}, {"fieldPath": "checkAt", "order": "ASCENDING"}],
    },
    {
        "collectionGroup": "tasks",
        "fields": [{"fieldPath": "tags", "arrayConfig": "CONTAINS"}, {"fieldPath": "checkAt", "order": "DESCENDING"}],
    },
    {
        "collectionGroup": "tasks",
        "queryScope": "COLLECTION_GROUP",
        "fields": [{"fieldPath": "status", "order": "ASCENDING"}, {"fieldPath": "at", "order": "ASCENDING"}],
    },
]
OVERRIDES = [
    {"collectionGroup": "tasks", "fieldPath": "input", "indexes": []},
    {
        "collectionGroup": "tasks",
        "fieldPath": "jobId",
        "indexes": [
            {"order": "ASCENDING", "queryScope": "COLLECTION"},
            {"order": "ASCENDING", "queryScope": "COLLECTION_GROUP"},
        ],
    },
]
Ask = Callable[[BaseQuery], BaseQuery]


@pytest.fixture
def strict() -> Client:
    return connect(Engine(indexes=parse(INDEXES, OVERRIDES)), "demo")


def eq(query: Any, *fields: str) -> Any:
    for field in fields:
        query = query.where(filter=FieldFilter(field, "==", 1))
    return query


def due(query: Any) -> Any:
    return query.where(filter=FieldFilter("checkAt", "<=", 5))


SERVED: dict[str, Ask] = {
    "nothing asked": lambda q: q,
    "one equality": lambda q: eq(q, "a"),
    "equalities merge": lambda q: eq(q, "a", "b", "c"),
    "equality and array element merge": lambda q: eq(q, "a").where(filter=FieldFilter("x", "array_contains", 1)),
    "one range": lambda q: q.where(filter=FieldFilter("a", ">", 1)),
    "one order, either way": lambda q: q.order_by("a", direction=Query.DESCENDING),
    "declared composite": lambda q: due(eq(q, "status", "checkBy")).order_by("checkAt"),
    "its order reversed": lambda q: due(eq(q, "status", "checkBy")).order_by("checkAt", direction=Query.DESCENDING),
    "two composites merge": lambda q: due(eq(q, "kind", "owner")),
    "array and order": lambda q: q.where(filter=FieldFilter("tags", "array_contains", 1)).order_by("checkAt"),
    "order by a field that is fixed": lambda q: eq(q, "a").order_by("a"),
    "in and order": lambda q: due(q.where(filter=FieldFilter("kind", "in", [1, 2]))),
    "name range with equality": lambda q: eq(q, "a").order_by("__name__"),
}
REFUSED: dict[str, Ask] = {
    "range with equality": lambda q: q.where(filter=FieldFilter("a", ">", 1)).where(filter=FieldFilter("b", "==", 1)),
    "order with equality": lambda q: eq(q, "a").order_by("b"),
    "two orders": lambda q: q.order_by("a").order_by("b"),
    "composite lacks a field": lambda q: due(eq(q, "status", "checkBy", "other")),
    "composite has a field too many": lambda q: due(eq(q, "status")),
    "name against the order": lambda q: q.order_by("a").order_by("__name__", direction=Query.DESCENDING),
    "exempted field": lambda q: eq(q, "input"),
    "one disjunct unserved": lambda q: q.where(
        filter=Or([FieldFilter("kind", "==", 1), FieldFilter("other", "==", 1)])
    ).order_by("checkAt"),
}


@pytest.mark.parametrize("ask", SERVED.values(), ids=SERVED)
def test_what_indexes_serve_is_answered(strict: Client, ask: Ask) -> None:
    assert list(ask(strict.collection("tasks")).stream()) == []


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_what_no_index_serves_is_a_failed_precondition(strict: Client, ask: Ask) -> None:
    with pytest.raises(exceptions.FailedPrecondition, match=r"The query requires an index\. You can create it here: "):
        list(ask(strict.collection("tasks")).stream())


def test_the_refusal_prints_the_index_to_add(strict: Client) -> None:
    with pytest.raises(exceptions.FailedPrecondition) as caught:
        list(due(eq(strict.collection("jobs"), "status")).order_by("checkAt", direction=Query.DESCENDING).stream())
    added = json.loads(caught.value.message.partition("firestore.indexes.json: ")[2])
    assert added == {
        "collectionGroup": "jobs",
        "queryScope": "COLLECTION",
        "fields": [
            {"fieldPath": "status", "order": "ASCENDING"},
            {"fieldPath": "checkAt", "order": "DESCENDING"},
        ],
    }
    served = connect(Engine(indexes=parse([added])), "demo")
    list(due(eq(served.collection("jobs"), "status")).order_by("checkAt", direction=Query.DESCENDING).stream())


def test_collection_groups_have_no_automatic_indexes(strict: Client) -> None:
    group = strict.collection_group("tasks")
    assert list(eq(group, "jobId").stream()) == []
    assert list(eq(group, "status").order_by("at").stream()) == []
    with pytest.raises(exceptions.FailedPrecondition, match="COLLECTION_GROUP"):
        list(eq(group, "status").stream())


def test_sums_need_the_summed_field_indexed(strict: Client) -> None:
    with pytest.raises(exceptions.FailedPrecondition):
        eq(strict.collection("tasks"), "a").sum("b").get()
    assert eq(strict.collection("tasks"), "kind").sum("checkAt").get()[0][0].value == 0


def test_without_an_index_file_nothing_is_refused(db: Client) -> None:
    assert list(due(eq(db.collection("tasks"), "a")).stream()) == []


@pytest.mark.parametrize("content", ["no json", "[]", '{"indexes": [{"fields": []}]}'])
def test_an_index_file_that_is_none_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "firestore.indexes.json"
    path.write_text(content)
    with pytest.raises(IndexFileError, match="correct or omit it"):
        load(path)
