"""The raw protobuf classes behind the proto-plus types of the stock client (several times faster)."""

from __future__ import annotations

from typing import Any

from google.cloud.firestore_v1.types import aggregation_result, common, document, firestore, query, write
from google.protobuf import empty_pb2, timestamp_pb2
from google.rpc import status_pb2

Message = Any  # a raw protobuf message: the classes come from a descriptor pool and have no static type

Timestamp: Any = timestamp_pb2.Timestamp
Empty: Any = empty_pb2.Empty
Status: Any = status_pb2.Status

Document: Any = document.Document.pb()
Value: Any = document.Value.pb()
ArrayValue: Any = document.ArrayValue.pb()
Write: Any = write.Write.pb()
WriteResult: Any = write.WriteResult.pb()
Precondition: Any = common.Precondition.pb()
TransactionOptions: Any = common.TransactionOptions.pb()
StructuredQuery: Any = query.StructuredQuery.pb()
Cursor: Any = query.Cursor.pb()
AggregationResult: Any = aggregation_result.AggregationResult.pb()


def of(name: str) -> Any:
    """The raw class of a request or response of the Firestore service, by name."""
    return getattr(firestore, name).pb()


BatchGetDocumentsRequest: Any = of("BatchGetDocumentsRequest")
BatchGetDocumentsResponse: Any = of("BatchGetDocumentsResponse")
BatchWriteRequest: Any = of("BatchWriteRequest")
BatchWriteResponse: Any = of("BatchWriteResponse")
BeginTransactionRequest: Any = of("BeginTransactionRequest")
BeginTransactionResponse: Any = of("BeginTransactionResponse")
CommitRequest: Any = of("CommitRequest")
CommitResponse: Any = of("CommitResponse")
CreateDocumentRequest: Any = of("CreateDocumentRequest")
DeleteDocumentRequest: Any = of("DeleteDocumentRequest")
GetDocumentRequest: Any = of("GetDocumentRequest")
ListCollectionIdsRequest: Any = of("ListCollectionIdsRequest")
ListCollectionIdsResponse: Any = of("ListCollectionIdsResponse")
ListDocumentsRequest: Any = of("ListDocumentsRequest")
ListDocumentsResponse: Any = of("ListDocumentsResponse")
ListenRequest: Any = of("ListenRequest")
ListenResponse: Any = of("ListenResponse")
PartitionQueryRequest: Any = of("PartitionQueryRequest")
PartitionQueryResponse: Any = of("PartitionQueryResponse")
RollbackRequest: Any = of("RollbackRequest")
RunAggregationQueryRequest: Any = of("RunAggregationQueryRequest")
RunAggregationQueryResponse: Any = of("RunAggregationQueryResponse")
RunQueryRequest: Any = of("RunQueryRequest")
RunQueryResponse: Any = of("RunQueryResponse")
UpdateDocumentRequest: Any = of("UpdateDocumentRequest")
