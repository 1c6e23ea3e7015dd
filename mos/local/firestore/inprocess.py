"""The stock client on an engine in the same process: a `grpc.Channel` without a socket.

Retry, transactions and wire bytes stay the stock client's. One hook sees every call and owns latency, faults,
crash points and other actors' steps:

    def hook(name, request, do, timeout):
        return do()          # or raise before it, or after it (applied but unanswered)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore import Client
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport

from mos.local.firestore import rpc
from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Refused
from mos.local.firestore.injected import InjectedError, grpc_error
from mos.local.firestore.meter import UNKNOWN
from mos.local.firestore.waiting import Pause, patiently

CALLER_HEADER = "x-mos-caller"


class Hook(Protocol):
    """Sees a call before it happens.

    `name` is the RPC's name, `request` the raw protobuf message, `do()` performs the call and returns its opaque
    answer (or raises the engine's refusal as a gRPC error), `timeout` is what the client allows, in seconds.
    """

    def __call__(self, name: str, request: Any, do: Callable[[], Any], timeout: float | None) -> Any: ...


def connect(
    engine: Engine,
    project: str = "demo",
    hook: Hook | None = None,
    *,
    database: str | None = None,
    caller: str = UNKNOWN,
    pause: Pause | None = None,
) -> Client:
    """A stock synchronous client whose calls run on `engine`.

    Args:
        engine: the database.
        project: the client's project.
        hook: sees every call.
        database: the client's database, `(default)` by default.
        caller: the tag under which the engine's meter counts this client.
        pause: waits so many seconds when a pessimistic lock is in the way; by default the thread really waits.
    """
    client = Client(project=project, credentials=anonymous(), database=database)
    channel = LocalChannel(engine, hook=hook, caller=caller, pause=pause)
    client._firestore_api_internal = FirestoreClient(  # noqa: SLF001 - where the stock client keeps its transport
        transport=FirestoreGrpcTransport(channel=channel)
    )
    return client


def anonymous() -> Any:
    """Credentials that are none."""
    return AnonymousCredentials()  # type: ignore[no-untyped-call]


class LocalChannel(grpc.Channel):  # type: ignore[misc]  # grpc has no types
    """Calls that run on an engine in this thread."""

    def __init__(
        self, engine: Engine, *, hook: Hook | None = None, caller: str = UNKNOWN, pause: Pause | None = None
    ) -> None:
        self.engine = engine
        self._hook = hook
        self._caller = caller
        self._pause = pause

    def perform(self, name: str, raw: bytes, timeout: float | None, metadata: Any) -> rpc.Answer:
        """One call, through the hook.

        Raises:
            InjectedError: the engine refused, or the hook did.
        """
        request = rpc.METHODS[name].request.FromString(raw)
        caller = dict(metadata or ()).get(CALLER_HEADER, self._caller)

        def do() -> rpc.Answer:
            try:
                rpc.check_size(raw)
                return patiently(self.engine, lambda: rpc.call(self.engine, name, request, caller), self._pause)
            except Refused as refusal:
                raise grpc_error(refusal.code, refusal.message) from refusal

        return do() if self._hook is None else self._hook(name, request, do, timeout)

    def unary_unary(
        self, method: str, request_serializer: Any = None, response_deserializer: Any = None, *_: Any, **__: Any
    ) -> grpc.UnaryUnaryMultiCallable:
        """A callable for a unary RPC."""
        return _Unary(self, method, request_serializer, response_deserializer)

    def unary_stream(
        self, method: str, request_serializer: Any = None, response_deserializer: Any = None, *_: Any, **__: Any
    ) -> grpc.UnaryStreamMultiCallable:
        """A callable for an RPC that answers with a stream."""
        return _Stream(self, method, request_serializer, response_deserializer)

    def stream_unary(self, method: str, *_: Any, **__: Any) -> grpc.StreamUnaryMultiCallable:
        """Refuses: Firestore has no such RPC."""
        return _Unsupported(method)

    def stream_stream(self, method: str, *_: Any, **__: Any) -> grpc.StreamStreamMultiCallable:
        """A callable that refuses: listening needs the server."""
        return _Unsupported(method)

    def subscribe(self, callback: Callable[[Any], None], try_to_connect: bool | None = False) -> None:  # noqa: ARG002, FBT001, FBT002 - grpc's signature
        """Always ready."""
        callback(grpc.ChannelConnectivity.READY)

    def unsubscribe(self, callback: Callable[[Any], None]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _Callable:
    def __init__(self, channel: LocalChannel, method: str, serialize: Any, deserialize: Any) -> None:
        self._channel = channel
        self._name = method.rpartition("/")[2]
        self._serialize = serialize
        self._deserialize = deserialize

    def _perform(self, request: Any, timeout: float | None, metadata: Any) -> Any:
        if self._name not in rpc.METHODS:
            raise grpc_error(grpc.StatusCode.UNIMPLEMENTED, f"{self._name} is not part of this local server.")
        return self._channel.perform(self._name, self._serialize(request), timeout, metadata)


class _Unary(_Callable, grpc.UnaryUnaryMultiCallable):  # type: ignore[misc]
    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = None, *_: Any, **__: Any) -> Any:
        return self._deserialize(self._perform(request, timeout, metadata))

    def with_call(self, request: Any, timeout: float | None = None, metadata: Any = None, *_: Any, **__: Any) -> Any:
        return self(request, timeout, metadata), FINISHED

    def future(self, request: Any, timeout: float | None = None, metadata: Any = None, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("The stock client never asks this channel for futures.")


class _Stream(_Callable, grpc.UnaryStreamMultiCallable):  # type: ignore[misc]
    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = None, *_: Any, **__: Any) -> Any:
        return Answers(self._perform(request, timeout, metadata), self._deserialize)


class _Unsupported(grpc.StreamStreamMultiCallable, grpc.StreamUnaryMultiCallable):  # type: ignore[misc]
    def __init__(self, method: str) -> None:
        self._method = method

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise grpc_error(grpc.StatusCode.UNIMPLEMENTED, f"{self._method} needs the server: it has no in-process form.")

    __call__ = with_call = future = _refuse


class _Finished(grpc.Call):  # type: ignore[misc]
    """The call object of an answer that is already there."""

    def is_active(self) -> bool:
        return False

    def time_remaining(self) -> None:
        return None

    def cancel(self) -> bool:
        return False

    def add_callback(self, callback: Callable[[], None]) -> bool:  # noqa: ARG002 - grpc's signature
        return False

    def initial_metadata(self) -> Sequence[Any]:
        return ()

    def trailing_metadata(self) -> Sequence[Any]:
        return ()

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.OK

    def details(self) -> str:
        return ""


FINISHED = _Finished()


class Answers(_Finished):
    """A stream of answers that are already there (a hook may hand in any iterable, and raise inside it)."""

    def __init__(self, answers: Iterable[bytes], deserialize: Callable[[bytes], Any]) -> None:
        self._answers: Iterator[bytes] = iter(answers)
        self._deserialize = deserialize

    def __iter__(self) -> Answers:
        return self

    def __next__(self) -> Any:
        return self._deserialize(next(self._answers))


__all__ = ["CALLER_HEADER", "Engine", "Hook", "InjectedError", "LocalChannel", "connect", "grpc_error"]
