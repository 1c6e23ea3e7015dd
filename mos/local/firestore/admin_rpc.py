"""The admin service beside Firestore on the same port: JSON in, JSON out, and the standard health check."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc

from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Refused
from mos.local.firestore.faults import FaultScript
from mos.local.firestore.transfer import export_page, import_lines

SERVICE = "mos.local.firestore.Admin"
HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


@dataclass(frozen=True, slots=True)
class Admin:
    """What the admin service works on."""

    engine: Engine
    faults: FaultScript


Handler = Callable[[Admin, Any], Any]


def stats(admin: Admin, _: Any) -> dict[str, Any]:
    """What is stored, what is under way, what each caller was billed and which faults have struck."""
    engine = admin.engine
    return {
        "documents": len(engine.store.docs),
        "collections": len(engine.store.collections),
        "versions": len(engine.store.history),
        "transactions": len(engine.transactions),
        "locking": engine.locking.value,
        "callers": engine.meter.snapshot(),
        "faults": dict(admin.faults.struck),
    }


def reset(admin: Admin, _: Any) -> dict[str, Any]:
    """Remove every document."""
    removed = len(admin.engine.store.docs)
    admin.engine.reset()
    return {"removed": removed}


def reset_stats(admin: Admin, _: Any) -> dict[str, Any]:
    """Count from zero again."""
    admin.engine.meter.reset()
    return {}


def set_faults(admin: Admin, question: Any) -> list[dict[str, Any]]:
    """Replace the fault rules: `{"rules": [...], "seed": 0}`."""
    admin.faults.load(question["rules"], seed=question.get("seed"))
    return admin.faults.as_data()


def get_faults(admin: Admin, _: Any) -> list[dict[str, Any]]:
    """The fault rules that can still strike."""
    return admin.faults.as_data()


def export(admin: Admin, question: Any) -> dict[str, Any]:
    """One page of documents behind a name: `{"after": "", "limit": 1000}`."""
    lines, after = export_page(admin.engine.store, question.get("after", ""), question.get("limit", 1000))
    return {"lines": lines, "after": after}


def imported(admin: Admin, question: Any) -> dict[str, Any]:
    """Write documents that were exported: `{"lines": [...]}`."""
    return {"written": import_lines(admin.engine, question["lines"])}


METHODS: dict[str, Handler] = {
    "Stats": stats,
    "Reset": reset,
    "ResetStats": reset_stats,
    "SetFaults": set_faults,
    "GetFaults": get_faults,
    "Export": export,
    "Import": imported,
}


def handlers(engine: Engine, faults: FaultScript) -> dict[str, Any]:
    """The gRPC handlers by full method name."""
    admin = Admin(engine, faults)
    table = {
        f"/{SERVICE}/{name}": grpc.unary_unary_rpc_method_handler(_json(admin, handler))
        for name, handler in METHODS.items()
    }
    table[HEALTH] = grpc.unary_unary_rpc_method_handler(_health)
    return table


async def _health(_: bytes, __: Any) -> bytes:
    return SERVING


def _json(admin: Admin, handler: Handler) -> Callable[[bytes, Any], Awaitable[Any]]:
    async def answer(raw: bytes, context: Any) -> Any:
        try:
            question = json.loads(raw) if raw else {}
            with admin.engine.lock:
                return json.dumps(handler(admin, question)).encode()
        except Refused as refusal:
            return await context.abort(refusal.code, refusal.message)
        except (ValueError, KeyError, TypeError) as error:
            return await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"The request is not understood: {error}")

    return answer
