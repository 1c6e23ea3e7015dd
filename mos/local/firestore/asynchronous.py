"""The stock AsyncClient on an engine in the same process: a `grpc.aio` channel without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import Any, Protocol, Self

import grpc
from google.cloud.firestore import AsyncClient
from google.cloud.firestore_v1.services.firestore import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.transports.grpc_asyncio import FirestoreGrpcAsyncIOTransport

from mos.local.firestore import rpc
from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Blocked, Refused
from mos.local.firestore.injected import grpc_error
from mos.local.firestore.inprocess import CALLER_HEADER, anonymous
from mos.local.firestore.meter import UNKNOWN
from mos.local.firestore.waiting import STEP

Pause = Callable[[float], Awaitable[None]]


class AsyncHook(Protocol):
    """As `inprocess.Hook`, for coroutines: `do` is awaited."""

    def __call__(
        self, name: str, request: Any, do: Callable[[], Awaitable[Any]], timeout: float | None
    ) -> Awaitable[Any]: ...


def connect_async(
    engine: Engine,
    project: str = "demo",
    hook: AsyncHook | None = None,
    *,
    database: str | None = None,
    caller: str = UNKNOWN,
    pause: Pause = asyncio.sleep,
) -> AsyncClient:
    """A stock asynchronous client whose calls run on `engine`; the arguments are those of `inprocess.connect`."""
    client = AsyncClient(project=project, credentials=anonymous(), database=database)
    channel = AsyncLocalChannel(engine, hook=hook, caller=caller, pause=pause)
    transport = FirestoreGrpcAsyncIOTransport(channel=channel)
    client._firestore_api_internal = FirestoreAsyncClient(transport=transport)  # noqa: SLF001 - where the client keeps it
    return client


class AsyncLocalChannel(grpc.aio.Channel):  # type: ignore[misc]  # grpc has no types
    """Calls that run on an engine in this event loop."""

    def __init__(self, engine: Engine, *, hook: AsyncHook | None, caller: str, pause: Pause) -> None:
        self.engine = engine
        self._hook = hook
        self._caller = caller
        self._pause = pause
        self._unary_unary_interceptors: list[Any] = []  # the stock transport appends its logging here

    async def perform(self, name: str, raw: bytes, timeout: float | None, metadata: Any) -> Any:  # noqa: ASYNC109 - the client's own
        """One call, through the hook.

        Raises:
            InjectedError: the engine refused, or the hook did.
        """
        request = rpc.METHODS[name].request.FromString(raw)
        caller = dict(metadata or ()).get(CALLER_HEADER, self._caller)

        async def do() -> Any:
            try:
                rpc.check_size(raw)
                return await self._patiently(name, request, caller)
            except Refused as refusal:
                raise grpc_error(refusal.code, refusal.message) from refusal

        return await (do() if self._hook is None else self._hook(name, request, do, timeout))

    async def _patiently(self, name: str, request: Any, caller: str) -> rpc.Answer:
        waited = 0.0
        while True:
            try:
                return rpc.call(self.engine, name, request, caller)
            except Blocked as blocked:
                if waited >= self.engine.lock_timeout:
                    raise blocked.answer from blocked
            await self._pause(STEP)
            waited += STEP

    def unary_unary(
        self, method: str, request_serializer: Any = None, response_deserializer: Any = None, *_: Any, **__: Any
    ) -> Any:
        """A callable for a unary RPC."""
        return _Unary(self, method, request_serializer, response_deserializer)

    def unary_stream(
        self, method: str, request_serializer: Any = None, response_deserializer: Any = None, *_: Any, **__: Any
    ) -> Any:
        """A callable for an RPC that answers with a stream."""
        return _Stream(self, method, request_serializer, response_deserializer)

    def stream_unary(self, method: str, *_: Any, **__: Any) -> Any:
        """Refuses: Firestore has no such RPC."""
        return _Unary(self, method, None, None)

    def stream_stream(self, method: str, *_: Any, **__: Any) -> Any:
        """A callable that refuses: listening needs the server."""
        return _Stream(self, method, None, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def close(self, grace: float | None = None) -> None:
        """Nothing is open."""

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:  # noqa: ARG002, FBT001, FBT002 - grpc's signature
        """Always ready."""
        return grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Never changes."""

    async def channel_ready(self) -> None:
        """At once."""


class _Method:
    def __init__(self, channel: AsyncLocalChannel, method: str, serialize: Any, deserialize: Any) -> None:
        self._channel = channel
        self._name = method.rpartition("/")[2]
        self._serialize = serialize
        self._deserialize = deserialize

    def _perform(self, request: Any, timeout: float | None, metadata: Any) -> Awaitable[Any]:
        if self._name not in rpc.METHODS:
            raise grpc_error(grpc.StatusCode.UNIMPLEMENTED, f"{self._name} needs the server or is not part of it.")
        return self._channel.perform(self._name, self._serialize(request), timeout, metadata)


class _Unary(_Method, grpc.aio.UnaryUnaryMultiCallable):  # type: ignore[misc]
    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = None, **_: Any) -> Any:
        return _UnaryCall(self._perform(request, timeout, metadata), self._deserialize)


class _Stream(_Method, grpc.aio.UnaryStreamMultiCallable):  # type: ignore[misc]
    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = None, **_: Any) -> Any:
        return _StreamCall(self._perform(request, timeout, metadata), self._deserialize)


class _UnaryCall:
    def __init__(self, answer: Awaitable[bytes], deserialize: Callable[[bytes], Any]) -> None:
        self._answer = answer
        self._deserialize = deserialize

    def __await__(self) -> Generator[Any, None, Any]:
        raw = yield from self._answer.__await__()
        return self._deserialize(raw)


class _StreamCall:
    def __init__(self, answer: Awaitable[Iterable[bytes]], deserialize: Callable[[bytes], Any]) -> None:
        self._answer = answer
        self._deserialize = deserialize

    async def wait_for_connection(self) -> None:
        """There is none to wait for."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        for raw in await self._answer:
            yield self._deserialize(raw)
