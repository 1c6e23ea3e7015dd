"""The service as a table of methods: one entry for the socket, the in-process channel and the tests alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mos.local.firestore import documents, messages, queries
from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Refused, invalid

SERVICE = "google.firestore.v1.Firestore"
MAX_REQUEST_BYTES = 10 << 20
Answer = bytes | list[bytes]
Handler = Callable[[Engine, Any, str], Any]


class Method(NamedTuple):
    """One RPC: the class of its request, its handler, and whether it answers with a stream."""

    request: Any
    handler: Handler
    streams: bool = False


METHODS: dict[str, Method] = {
    "GetDocument": Method(messages.GetDocumentRequest, documents.get_document),
    "BatchGetDocuments": Method(messages.BatchGetDocumentsRequest, documents.batch_get, streams=True),
    "Commit": Method(messages.CommitRequest, documents.commit),
    "BatchWrite": Method(messages.BatchWriteRequest, documents.batch_write),
    "CreateDocument": Method(messages.CreateDocumentRequest, documents.create_document),
    "UpdateDocument": Method(messages.UpdateDocumentRequest, documents.update_document),
    "DeleteDocument": Method(messages.DeleteDocumentRequest, documents.delete_document),
    "BeginTransaction": Method(messages.BeginTransactionRequest, documents.begin_transaction),
    "Rollback": Method(messages.RollbackRequest, documents.rollback),
    "ListCollectionIds": Method(messages.ListCollectionIdsRequest, documents.list_collection_ids),
    "ListDocuments": Method(messages.ListDocumentsRequest, queries.list_documents),
    "RunQuery": Method(messages.RunQueryRequest, queries.run_query, streams=True),
    "RunAggregationQuery": Method(messages.RunAggregationQueryRequest, queries.run_aggregation, streams=True),
    "PartitionQuery": Method(messages.PartitionQueryRequest, queries.partition_query),
}


def call(engine: Engine, name: str, request: Any, caller: str) -> Answer:
    """Answer one request: serialized, a list of them where the method streams.

    Raises:
        Refused: the status to answer with.
        Blocked: wait for a lock and call again.
    """
    with engine.lock:
        engine.meter.call(caller)
        answer: Answer = METHODS[name].handler(engine, request, caller)
        return answer


def check_size(raw: bytes) -> None:
    """Refuse requests over 10 MiB."""
    if len(raw) > MAX_REQUEST_BYTES:
        raise invalid(f"Request payload size exceeds the limit: {MAX_REQUEST_BYTES} bytes.")


__all__ = ["METHODS", "SERVICE", "Answer", "Method", "Refused", "call", "check_size"]
