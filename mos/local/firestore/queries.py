"""The RPCs that look for documents: queries, aggregations, listings and partitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from mos.local.firestore import encoding, names, query, wire
from mos.local.firestore import fields as field_paths
from mos.local.firestore.aggregation import aggregate
from mos.local.firestore.clock import stamp
from mos.local.firestore.engine import Engine, Reading
from mos.local.firestore.errors import invalid
from mos.local.firestore.fields import NAME
from mos.local.firestore.messages import (
    AggregationResult,
    Cursor,
    Document,
    ListDocumentsResponse,
    PartitionQueryResponse,
    RunAggregationQueryResponse,
    RunQueryResponse,
    Value,
)
from mos.local.firestore.mutation import Doc
from mos.local.firestore.paging import DEFAULT_PAGE, page_token, token_key
from mos.local.firestore.scan import Spec

ORDER_TERM = re.compile(r"\s*(.+?)(?:\s+(asc|desc))?\s*", re.IGNORECASE)


def run_query(engine: Engine, request: Any, caller: str) -> list[bytes]:
    """RunQuery."""
    asked = query.parse(_parent(request.parent), request.structured_query)
    engine.check_index(asked)
    reading = engine.read(names.parse(request.parent).database, request)
    docs = engine.run(reading, asked)
    engine.meter.query(caller, len(docs) + (asked.offset if docs else 0))
    answers = [wire.field(1, wire.document(doc, asked.projection)) for doc in docs] or [b""]
    if docs and asked.offset:
        answers[0] += RunQueryResponse(skipped_results=asked.offset).SerializeToString()
    end = wire.timestamp(3, reading.read_time)
    return [*_begun(reading), *(answer + end for answer in answers)]


def _begun(reading: Reading) -> list[bytes]:
    """The transaction that this query started goes before its answer."""
    if not reading.started or reading.transaction is None:
        return []
    return [RunQueryResponse(transaction=reading.transaction.id).SerializeToString()]


def _parent(parent: str) -> str:
    if not names.parse(parent).is_document:
        raise invalid(f"The parent {parent} names no document and not the root.")
    return parent


def run_aggregation(engine: Engine, request: Any, caller: str) -> list[bytes]:
    """RunAggregationQuery: count, sum and average."""
    wanted = request.structured_aggregation_query
    base = query.parse(_parent(request.parent), wanted.structured_query)
    reading = engine.read(names.parse(request.parent).database, request)
    values, entries = aggregate(engine, reading, base, wanted.aggregations)
    engine.meter.aggregation(caller, entries)
    response = RunAggregationQueryResponse(read_time=stamp(reading.read_time))
    response.result.CopyFrom(AggregationResult(aggregate_fields=values))
    if reading.started and reading.transaction is not None:
        response.transaction = reading.transaction.id
    return [response.SerializeToString()]


def list_documents(engine: Engine, request: Any, caller: str) -> bytes:
    """ListDocuments, with `show_missing` and paging by the last document given."""
    asked = _listing(request)
    reading = engine.read(names.parse(request.parent).database, request)
    size = request.page_size or DEFAULT_PAGE
    docs = engine.run(reading, replace(asked, limit=size + 1))
    shown: list[tuple[bytes, Doc | str]] = [(_key_of(asked, doc), doc) for doc in docs]
    if request.show_missing:
        shown = _with_missing(engine, asked, shown, reading.time)
    engine.meter.query(caller, min(len(shown), size))
    mask = wire.mask_of(request)
    response = b"".join(wire.field(1, _shown(item, mask)) for _, item in shown[:size])
    if len(shown) > size:
        token = page_token(shown[size - 1][0])
        response += ListDocumentsResponse(next_page_token=token).SerializeToString()
    return response


def _listing(request: Any) -> query.Query:
    if request.page_size < 0:
        raise invalid("The page size cannot be negative.")
    orders = _order_by(request.order_by)
    if request.show_missing and len(orders) > 1:
        raise invalid("show_missing cannot be used together with order_by.")
    query.check_key_scan(((),), orders)
    scope = query.Scope(_parent(request.parent), request.collection_id or None, deep=False)
    low = token_key(request.page_token) + encoding.AFTER if request.page_token else b""
    return query.Query(
        scope=scope,
        disjuncts=((),),
        orders=orders,
        low=low,
        high=encoding.AFTER,
        offset=0,
        limit=None,
        projection=None,
    )


def _order_by(text: str) -> tuple[query.Order, ...]:
    orders = []
    for term in filter(None, text.split(",")):
        match = ORDER_TERM.fullmatch(term)
        if match is None:
            raise invalid(f'Cannot parse order_by "{text}".')
        orders.append(query.Order(field_paths.parse(match.group(1)), (match.group(2) or "").lower() == "desc"))
    if orders and orders[-1].field == NAME:
        return tuple(orders)
    return (*orders, query.Order(NAME, orders[-1].descending if orders else False))


def _key_of(asked: query.Query, doc: Doc) -> bytes:
    return Spec((), asked.orders).entries(doc, doc.parsed())[0]


def _with_missing(
    engine: Engine, asked: query.Query, shown: Sequence[tuple[bytes, Doc | str]], time: int | None
) -> list[tuple[bytes, Doc | str]]:
    """Documents that do not exist but have collections below them, listed among the others."""
    depth = asked.scope.parent.count("/") + 2
    holders = {
        "/".join(name.split("/")[: depth + 1])
        for name in engine.store.collection_names(time)
        if name.startswith(f"{asked.scope.parent}/") and name.count("/") > depth
    }
    wanted = [name for name in holders if asked.scope.holds(name) and engine.store.at(name, time) is None]
    missing: list[tuple[bytes, Doc | str]] = [(encoding.name_key(name), name) for name in wanted]
    return sorted([*shown, *(pair for pair in missing if pair[0] >= asked.low)], key=lambda pair: pair[0])


def _shown(item: Doc | str, mask: Any) -> bytes:
    return bytes(Document(name=item).SerializeToString()) if isinstance(item, str) else wire.document(item, mask)


def partition_query(engine: Engine, request: Any, caller: str) -> bytes:
    """PartitionQuery: cursors that split a collection group ordered by name into parts of about equal size."""
    asked = query.parse(_parent(request.parent), request.structured_query)
    if not asked.scope.deep or asked.orders != (query.Order(NAME, descending=False),):
        raise invalid("A partition query must look in a collection group and be ordered by __name__ ascending.")
    if request.partition_count < 1:
        raise invalid("The partition count must be positive.")
    reading = engine.read(names.parse(request.parent).database, request)
    docs = list(engine.store.run(asked, reading.time))
    engine.meter.query(caller, request.partition_count)
    step = max(1, len(docs) // (request.partition_count + 1))
    cuts = islice(docs[step::step], request.partition_count)
    cursors = [Cursor(values=[Value(reference_value=doc.name)], before=True) for doc in cuts]
    return bytes(PartitionQueryResponse(partitions=cursors).SerializeToString())
