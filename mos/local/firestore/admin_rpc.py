"""The admin service beside Firestore on the same port: JSON in, JSON out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from mos.local.firestore.engine import Engine

SERVICE = "mos.local.firestore.Admin"
HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
Handler = Callable[[Engine, Any], Any]


def stats(engine: Engine, _: Any) -> dict[str, Any]:
    """What is stored, what is under way and what each caller was billed."""
    return {
        "documents": len(engine.store.docs),
        "collections": len(engine.store.collections),
        "versions": len(engine.store.history),
        "transactions": len(engine.transactions),
        "locking": engine.locking.value,
        "callers": engine.meter.snapshot(),
    }


def reset(engine: Engine, _: Any) -> dict[str, Any]:
    """Remove every document."""
    removed = len(engine.store.docs)
    engine.reset()
    return {"removed": removed}


def reset_stats(engine: Engine, _: Any) -> dict[str, Any]:
    """Count from zero again."""
    engine.meter.reset()
    return {}


METHODS: dict[str, Handler] = {"Stats": stats, "Reset": reset, "ResetStats": reset_stats}


def handlers(engine: Engine) -> dict[str, Any]:
    """The gRPC handlers by full method name."""
    table = {
        f"/{SERVICE}/{name}": grpc.unary_unary_rpc_method_handler(_json(engine, handler))
        for name, handler in METHODS.items()
    }
    table[HEALTH] = grpc.unary_unary_rpc_method_handler(_health)
    return table


async def _health(_: bytes, __: Any) -> bytes:
    return SERVING


def _json(engine: Engine, handler: Handler) -> Callable[[bytes, Any], Awaitable[bytes]]:
    async def answer(raw: bytes, context: Any) -> bytes:
        try:
            question = json.loads(raw) if raw else None
            with engine.lock:
                return json.dumps(handler(engine, question)).encode()
        except (ValueError, KeyError, TypeError) as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"The request is not understood: {error}")
            raise

    return answer
