"""The service over gRPC, on one event loop: no thread is pinned by a stream or by a waiting transaction."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from mos.local.firestore import admin_rpc, listening, rpc
from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Blocked, Refused, invalid
from mos.local.firestore.faults import FaultScript, Verdict
from mos.local.firestore.inprocess import CALLER_HEADER
from mos.local.firestore.meter import UNKNOWN
from mos.local.firestore.waiting import STEP

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 1.0
OPTIONS = [
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),
]


class PortTaken(Exception):
    """The address cannot be listened on; the text says what to do."""


class Server:
    """One engine on one address.

    Args:
        engine: the database; the server's event loop is its only caller.
        host: the address to listen on.
        port: 0 picks a free one.
        faults: what goes wrong on purpose; can be replaced at run time through the admin service.
    """

    def __init__(
        self, engine: Engine, *, host: str = "127.0.0.1", port: int = 0, faults: FaultScript | None = None
    ) -> None:
        self.engine = engine
        self.faults = faults or FaultScript()
        self._host = host
        self._port = port
        self._server: Any = None

    @property
    def address(self) -> str:
        """`host:port`, as `FIRESTORE_EMULATOR_HOST` wants it."""
        return f"{self._host}:{self._port}"

    async def start(self) -> None:
        """Begin to answer.

        Raises:
            PortTaken: another process listens there.
        """
        self._check_free()
        self._server = grpc.aio.server(options=OPTIONS)
        handlers = self._firestore() | admin_rpc.handlers(self.engine, self.faults)
        self._server.add_generic_rpc_handlers((_Handlers(handlers),))
        self._port = self._server.add_insecure_port(self.address)
        await self._server.start()

    def _check_free(self) -> None:
        """Ask with a plain socket first: gRPC would also write lines of its own to stderr."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._host, self._port))
            except OSError as error:
                raise PortTaken(
                    f"{self.address} is taken or not an address of this machine: stop what listens there, "
                    "or start with --port 0 to pick a free port."
                ) from error

    async def stop(self) -> None:
        """Finish calls under way, drop streams, let the data file go."""
        await self._server.stop(GRACE_SECONDS)
        self.engine.close()

    def _firestore(self) -> dict[str, Any]:
        table = {f"/{rpc.SERVICE}/{name}": self._handler(name, method) for name, method in rpc.METHODS.items()}
        listen = listening.handler(self.engine, self.faults, _caller, _inject)
        return {**table, f"/{rpc.SERVICE}/{listening.METHOD}": grpc.stream_stream_rpc_method_handler(listen)}

    def _handler(self, name: str, method: rpc.Method) -> Any:
        if method.streams:
            return grpc.unary_stream_rpc_method_handler(self._stream(name))
        return grpc.unary_unary_rpc_method_handler(self._unary(name))

    def _unary(self, name: str) -> Callable[[bytes, Any], Awaitable[Any]]:
        async def answer(raw: bytes, context: Any) -> Any:
            verdict = self.faults.decide(name, raw, _caller(context))
            return await self._answer(name, raw, context, verdict)

        return answer

    def _stream(self, name: str) -> Callable[[bytes, Any], AsyncIterator[bytes]]:
        async def answers(raw: bytes, context: Any) -> AsyncIterator[bytes]:
            verdict = self.faults.decide(name, raw, _caller(context))
            for part in (await self._answer(name, raw, context, verdict))[: verdict.break_at]:
                yield part
            if verdict.break_at is not None:
                await _inject(context, verdict.break_code)

        return answers

    async def _answer(self, name: str, raw: bytes, context: Any, verdict: Verdict) -> Any:
        await asyncio.sleep(verdict.delay) if verdict.delay else None
        if verdict.before is not None:
            return await _inject(context, verdict.before)
        try:
            answer = await self._patiently(name, _parse(name, raw), _caller(context))
        except Refused as refusal:
            return await context.abort(refusal.code, refusal.message)
        except Exception:
            LOG.exception("%s failed", name)
            return await context.abort(grpc.StatusCode.INTERNAL, f"{name} failed: see the server's log.")
        return answer if verdict.after is None else await _inject(context, verdict.after)

    async def _patiently(self, name: str, request: Any, caller: str) -> rpc.Answer:
        waited = 0.0
        while True:
            try:
                return rpc.call(self.engine, name, request, caller)
            except Blocked as blocked:
                if waited >= self.engine.lock_timeout:
                    raise blocked.answer from blocked
            await asyncio.sleep(STEP)
            waited += STEP


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    def __init__(self, handlers: dict[str, Any]) -> None:
        self._handlers = handlers

    def service(self, handler_call_details: Any) -> Any:
        return self._handlers.get(handler_call_details.method)


async def _inject(context: Any, code: str) -> Any:
    return await context.abort(grpc.StatusCode[code], "injected")


def _caller(context: Any) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == CALLER_HEADER:
            return str(value)
    return UNKNOWN


def _parse(name: str, raw: bytes) -> Any:
    rpc.check_size(raw)
    try:
        return rpc.METHODS[name].request.FromString(raw)
    except DecodeError as error:
        raise invalid(f"{name}: the request is not a message of this RPC.") from error


async def serve(server: Server, *, ready: Callable[[str], None]) -> None:
    """Answer until SIGTERM or SIGINT; `ready` gets the address once calls are accepted."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await server.start()
    ready(server.address)
    await stop.wait()
    await server.stop()
