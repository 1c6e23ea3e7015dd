"""The stock AsyncClient, in process and over the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore import AsyncClient
from google.cloud.firestore_v1.services.firestore import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import FirestoreGrpcAsyncIOTransport

from mos.local.firestore.asynchronous import connect_async
from mos.local.firestore.inprocess import Engine, grpc_error
from mos.local.firestore.testing import ServerProcess


async def bump(db: AsyncClient, path: str) -> int:
    @firestore.async_transactional
    async def work(transaction: Any) -> int:
        snapshot = await db.document(path).get(transaction=transaction)
        number = (snapshot.get("n") if snapshot.exists else 0) + 1
        await asyncio.sleep(0)
        transaction.set(db.document(path), {"n": number})
        return number

    return int(await work(db.transaction()))


async def everything(db: AsyncClient) -> None:
    await db.document("a/1").set({"n": 1})
    await db.document("a/2").create({"n": 2})
    await db.document("a/1").update({"n": firestore.Increment(5)})
    assert (await db.document("a/1").get()).to_dict() == {"n": 6}
    assert [s.id async for s in db.collection("a").order_by("n").stream()] == ["2", "1"]
    assert (await db.collection("a").count().get())[0][0].value == 2
    assert [s.exists async for s in db.get_all([db.document("a/1"), db.document("a/9")])] == [True, False]
    assert [c.id async for c in db.collections()] == ["a"]
    with pytest.raises(exceptions.AlreadyExists):
        await db.document("a/1").create({})
    with pytest.raises(exceptions.InvalidArgument):
        [s async for s in db.collection("a").limit(-1).stream()]
    await db.document("a/2").delete()


def test_an_async_client_does_everything_in_process() -> None:
    asyncio.run(everything(connect_async(Engine())))


def test_an_async_client_does_everything_over_the_socket(firestore_server: ServerProcess) -> None:
    async def run() -> None:
        async with grpc.aio.insecure_channel(firestore_server.address) as channel:
            db = AsyncClient(project="async", credentials=AnonymousCredentials())
            transport = FirestoreGrpcAsyncIOTransport(channel=channel)
            db._firestore_api_internal = FirestoreAsyncClient(transport=transport)
            await everything(db)

    asyncio.run(run())


def test_interleaved_async_transactions_lose_nothing(locking: str) -> None:
    engine = Engine(locking=locking)

    async def run() -> None:
        db = connect_async(engine)

        async def team() -> None:
            done = 0
            while done < 10:
                try:
                    await bump(db, "c/x")
                except ValueError:
                    continue
                done += 1

        await asyncio.gather(*(team() for _ in range(4)))
        assert (await db.document("c/x").get()).get("n") == 40

    asyncio.run(run())
    assert len(engine.transactions) == 0


def test_an_async_hook_owns_the_call() -> None:
    async def hook(name: str, request: Any, do: Callable[[], Awaitable[Any]], timeout: float | None) -> Any:  # noqa: ASYNC109 - the client's own
        answer = await do()
        if name == "Commit":
            raise grpc_error("DEADLINE_EXCEEDED")
        return answer

    async def run() -> None:
        db = connect_async(Engine(), hook=hook)
        with pytest.raises(exceptions.DeadlineExceeded):
            await db.document("c/x").set({"n": 1})
        assert (await db.document("c/x").get()).exists

    asyncio.run(run())
