"""The RPCs on documents by name: get, batch get, create, update, delete, commit, batch write, list collection ids."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable
from typing import Any

from mos.local.firestore import mutation, names, wire
from mos.local.firestore.clock import stamp
from mos.local.firestore.engine import Committed, Engine
from mos.local.firestore.errors import Refused, invalid, not_found
from mos.local.firestore.messages import (
    BatchGetDocumentsResponse,
    BatchWriteResponse,
    BeginTransactionResponse,
    CommitResponse,
    ListCollectionIdsResponse,
    Status,
    Write,
    WriteResult,
)
from mos.local.firestore.paging import page, page_token

AUTO_ID = string.ascii_letters + string.digits
MAX_BATCH = 500


def get_document(engine: Engine, request: Any, caller: str) -> bytes:
    """GetDocument."""
    database = names.document(request.name).database
    mask = wire.mask_of(request)
    reading = engine.read(database, request)
    (doc,) = engine.get(reading, [request.name])
    engine.meter.read(caller, 1)
    if doc is None:
        raise not_found(f'Document "{request.name}" not found.')
    return wire.document(doc, mask)


def batch_get(engine: Engine, request: Any, caller: str) -> list[bytes]:
    """BatchGetDocuments: what was found before what is missing."""
    wanted = list(dict.fromkeys(request.documents))
    for name in wanted:
        if names.document(name).database != request.database:
            raise invalid(f"The document {name} is not in the database {request.database}.")
    mask = wire.mask_of(request)
    reading = engine.read(request.database, request)
    docs = engine.get(reading, wanted)
    engine.meter.read(caller, len(wanted))
    end = wire.timestamp(4, reading.read_time)
    found = [wire.field(1, wire.document(doc, mask)) + end for doc in docs if doc is not None]
    missing = [wire.field(2, name.encode()) + end for name, doc in zip(wanted, docs, strict=True) if doc is None]
    if reading.started and reading.transaction is not None:
        header = BatchGetDocumentsResponse(transaction=reading.transaction.id)
        return [header.SerializeToString(), *found, *missing]
    return found + missing


def commit(engine: Engine, request: Any, caller: str) -> bytes:
    """Commit."""
    committed = engine.commit(request.database, request.writes, request.transaction)
    _bill(engine, caller, request.writes)
    response = CommitResponse(commit_time=stamp(committed.time), write_results=_results(committed))
    return bytes(response.SerializeToString())


def _bill(engine: Engine, caller: str, writes: Iterable[Any]) -> None:
    deletes = sum(write.HasField("delete") for write in writes)
    engine.meter.write(caller, sum(1 for _ in writes) - deletes, deletes)


def _results(committed: Committed) -> list[Any]:
    return [
        WriteResult(update_time=None if updated is None else stamp(updated), transform_results=results)
        for updated, results in committed.results
    ]


def batch_write(engine: Engine, request: Any, caller: str) -> bytes:
    """BatchWrite: each write on its own, each with its own status."""
    targets = [mutation.check(write).name for write in request.writes]
    if len(set(targets)) != len(targets):
        raise invalid("A batch write cannot write a document more than once.")
    if len(targets) > MAX_BATCH:
        raise invalid(f"A batch write can carry at most {MAX_BATCH} writes.")
    engine.check_database(request.database)
    engine.await_locks(request.database, request.writes)
    response = BatchWriteResponse()
    for write in request.writes:
        result, status = _write_alone(engine, request.database, write, caller)
        response.write_results.append(result)
        response.status.append(status)
    return bytes(response.SerializeToString())


def _write_alone(engine: Engine, database: str, write: Any, caller: str) -> tuple[Any, Any]:
    try:
        committed = engine.commit(database, [write])
    except Refused as refusal:
        return WriteResult(), Status(code=refusal.code.value[0], message=refusal.message)
    _bill(engine, caller, [write])
    return _results(committed)[0], Status()


def create_document(engine: Engine, request: Any, caller: str) -> bytes:
    """CreateDocument, with a new id where none is given."""
    document_id = request.document_id or "".join(secrets.choice(AUTO_ID) for _ in range(20))
    name = f"{request.parent}/{request.collection_id}/{document_id}"
    if request.document.name:
        raise invalid("document.name must not be set")
    write = Write(update=request.document)
    write.update.name = name
    write.current_document.exists = False
    return _write_and_return(engine, write, wire.mask_of(request), caller)


def update_document(engine: Engine, request: Any, caller: str) -> bytes:
    """UpdateDocument."""
    write = Write(update=request.document)
    if request.HasField("update_mask"):
        write.update_mask.CopyFrom(request.update_mask)
    if request.HasField("current_document"):
        write.current_document.CopyFrom(request.current_document)
    return _write_and_return(engine, write, wire.mask_of(request), caller)


def _write_and_return(engine: Engine, write: Any, mask: Any, caller: str) -> bytes:
    name = write.update.name
    engine.commit(names.document(name).database, [write])
    engine.meter.write(caller, 1, 0)
    return wire.document(engine.store.docs[name], mask)


def delete_document(engine: Engine, request: Any, caller: str) -> bytes:
    """DeleteDocument."""
    write = Write(delete=request.name)
    if request.HasField("current_document"):
        write.current_document.CopyFrom(request.current_document)
    engine.commit(names.document(request.name).database, [write])
    engine.meter.write(caller, 0, 1)
    return b""


def begin_transaction(engine: Engine, request: Any, caller: str) -> bytes:  # noqa: ARG001 - handlers share a signature
    """BeginTransaction."""
    transaction = engine.begin(request.database, request.options)
    return bytes(BeginTransactionResponse(transaction=transaction.id).SerializeToString())


def rollback(engine: Engine, request: Any, caller: str) -> bytes:  # noqa: ARG001 - handlers share a signature
    """Rollback."""
    engine.rollback(request.database, request.transaction)
    return b""


def list_collection_ids(engine: Engine, request: Any, caller: str) -> bytes:
    """ListCollectionIds: collections that hold documents, directly or further below."""
    parsed = names.parse(request.parent)
    if not parsed.is_document:
        raise invalid(f"The parent {request.parent} names no document and not the root.")
    reading = engine.read(parsed.database, request)
    found = {
        name[len(request.parent) + 1 :].split("/", 1)[0]
        for name in engine.store.collection_names(reading.time)
        if name.startswith(f"{request.parent}/")
    }
    engine.meter.query(caller, len(found))
    ids, more = page(sorted(found), request)
    token = page_token(ids[-1].encode()) if more else ""
    return bytes(ListCollectionIdsResponse(collection_ids=ids, next_page_token=token).SerializeToString())
