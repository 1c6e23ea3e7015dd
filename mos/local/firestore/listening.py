"""Listen streams on the event loop: one small task per stream, no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Refused
from mos.local.firestore.faults import FaultScript
from mos.local.firestore.listen import Session
from mos.local.firestore.messages import ListenRequest
from mos.local.firestore.store import Change

METHOD = "Listen"


class _Commit:
    """Wakes a stream: something was committed."""


COMMIT = _Commit()
END = None


def handler(
    engine: Engine, faults: FaultScript, caller_of: Callable[[Any], str], inject: Callable[[Any, str], Any]
) -> Callable[[Any, Any], AsyncIterator[bytes]]:
    """The stream-stream handler of Listen."""

    async def listen(requests: Any, context: Any) -> AsyncIterator[bytes]:
        session = Session(engine, caller_of(context))
        verdict = faults.decide(METHOD, b"", caller_of(context))
        if verdict.before is not None:
            await inject(context, verdict.before)
        sent = 0
        try:
            async for answer in _answers(engine, session, requests):
                if sent == verdict.break_at:
                    await inject(context, verdict.break_code)
                yield answer.SerializeToString()
                sent += 1
        except Refused as refusal:
            await context.abort(refusal.code, refusal.message)

    return listen


async def _answers(engine: Engine, session: Session, requests: Any) -> AsyncIterator[Any]:
    events: asyncio.Queue[Any] = asyncio.Queue()

    def committed(_: Sequence[Change], __: int) -> None:
        events.put_nowait(COMMIT)

    engine.listeners.append(committed)
    reader = asyncio.create_task(_read(requests, events))
    try:
        while (event := await events.get()) is not END:
            with engine.lock:
                answers = session.advance() if event is COMMIT else session.receive(event)
            for answer in answers:
                yield answer
    finally:
        engine.listeners.remove(committed)
        reader.cancel()


async def _read(requests: Any, events: asyncio.Queue[Any]) -> None:
    """Hand the client's requests on until it closes its side."""
    try:
        async for raw in requests:
            events.put_nowait(ListenRequest.FromString(raw))
    finally:
        events.put_nowait(END)
