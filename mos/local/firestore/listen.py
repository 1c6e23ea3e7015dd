"""Listening: what the targets of one stream see, as the messages that the stock client's watch expects.

No I/O here: `Session.receive` answers a request, `Session.advance` tells what has changed since the last answer.
A target begins with ADD, its documents, CURRENT; then NO_CHANGE without target ids closes a consistent snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mos.local.firestore import names, query
from mos.local.firestore.clock import from_stamp, stamp
from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Refused, invalid
from mos.local.firestore.messages import ListenResponse
from mos.local.firestore.mutation import Doc

NO_CHANGE, ADD, REMOVE, CURRENT, RESET = range(5)  # TargetChange.TargetChangeType
FIRST_OWN_ID = 1 << 20


@dataclass(slots=True)
class Target:
    """One thing that is listened to, and what of it has been shown: name → version."""

    id: int
    query: query.Query | None
    documents: tuple[str, ...]
    shown: dict[str, int] = field(default_factory=dict)

    def look(self, engine: Engine, time: int | None = None) -> dict[str, Doc]:
        """The documents that it holds, now or at a time."""
        if self.query is not None:
            return {doc.name: doc for doc in engine.store.run(self.query, time)}
        found = ((name, engine.store.at(name, time)) for name in self.documents)
        return {name: doc for name, doc in found if doc is not None}

    def concerns(self, changed: set[str]) -> bool:
        """Whether a change of these documents can matter to it."""
        if self.query is None:
            return not changed.isdisjoint(self.documents)
        return any(self.query.scope.holds(name) for name in changed)


class Session:
    """The targets of one listen stream."""

    def __init__(self, engine: Engine, caller: str) -> None:
        self._engine = engine
        self._caller = caller
        self._targets: dict[int, Target] = {}
        self._seen = 0
        self._next_id = FIRST_OWN_ID

    def receive(self, request: Any) -> list[Any]:
        """Answer a request to add or remove a target.

        Raises:
            Refused: the database or the request is wrong; the stream ends with it.
        """
        self._engine.check_database(request.database)
        match request.WhichOneof("target_change"):
            case "add_target":
                return list(self._add(request.add_target))
            case "remove_target":
                self._targets.pop(request.remove_target, None)
                return [_target_change(REMOVE, request.remove_target)]
            case _:
                raise invalid("A listen request adds or removes a target.")

    def _add(self, wanted: Any) -> Iterator[Any]:
        try:
            target = self._target(wanted)
        except Refused as refusal:
            yield _refusal(wanted.target_id, refusal)
            return
        if target.id in self._targets:
            raise invalid(f"The target id {target.id} is in use on this stream.")
        now = self._engine.clock.read_time()
        yield _target_change(ADD, target.id)
        resumed = self._resume(target, wanted)
        if resumed is False:
            yield _target_change(RESET, target.id)
        yield from self._differences(target, now, first=not resumed)
        if resumed:
            yield _count(target)
        yield _target_change(CURRENT, target.id, now)
        if wanted.once:
            yield _target_change(REMOVE, target.id, now)
        else:
            self._targets[target.id] = target
        yield _target_change(NO_CHANGE, 0, now)
        self._seen = now

    def _target(self, wanted: Any) -> Target:
        target_id = wanted.target_id or self._own_id()
        if wanted.HasField("documents"):
            for name in wanted.documents.documents:
                names.document(name)
            return Target(target_id, None, tuple(dict.fromkeys(wanted.documents.documents)))
        if not wanted.HasField("query"):
            raise invalid("A target is a query or documents.")
        asked = query.parse(wanted.query.parent, wanted.query.structured_query)
        self._engine.check_index(asked)
        return Target(target_id, asked, ())

    def _own_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _resume(self, target: Target, wanted: Any) -> bool | None:
        """Take up what the client has seen; False where that is no longer kept, None where it has seen nothing."""
        match wanted.WhichOneof("resume_type"):
            case "resume_token" if wanted.resume_token:
                time = int.from_bytes(wanted.resume_token, "big")
            case "read_time":
                time = from_stamp(wanted.read_time)
            case _:
                return None
        try:
            self._engine.check_time(time)
            target.shown = {name: doc.updated for name, doc in target.look(self._engine, time).items()}
        except Refused:
            return False
        return True

    def advance(self) -> list[Any]:
        """What the targets have to be told since the last time; empty where nothing matters to them."""
        now = self._engine.clock.read_time()
        since, self._seen = self._seen, now
        if since < self._engine.store.history.horizon:
            return [answer for target in self._targets.values() for answer in self._differences(target, now)]
        changed = self._engine.store.history.since(since)
        told = [
            answer
            for target in self._targets.values()
            if target.concerns(changed)
            for answer in self._differences(target, now)
        ]
        return [*told, _target_change(NO_CHANGE, 0, now)] if told else []

    def _differences(self, target: Target, now: int, *, first: bool = False) -> Iterator[Any]:
        found = target.look(self._engine)
        fresh = [doc for doc in found.values() if target.shown.get(doc.name) != doc.updated]
        for doc in fresh:
            yield _changed(doc, target)
        for name in [*target.shown, *(target.documents if first else ())]:
            if name not in found:
                exists = name in self._engine.store.docs
                yield _gone("document_remove" if exists else "document_delete", name, target, now)
        target.shown = {name: doc.updated for name, doc in found.items()}
        if first:
            self._engine.meter.query(self._caller, len(found))
        else:
            self._engine.meter.read(self._caller, len(fresh))


def _target_change(kind: int, target_id: int, now: int | None = None) -> Any:
    response = ListenResponse()
    change = response.target_change
    change.target_change_type = kind
    change.target_ids.extend([target_id] if target_id else [])
    if now is not None:
        change.read_time.CopyFrom(stamp(now))
        change.resume_token = now.to_bytes(8, "big")
    return response


def _refusal(target_id: int, refusal: Refused) -> Any:
    response = _target_change(REMOVE, target_id)
    response.target_change.cause.code = refusal.code.value[0]
    response.target_change.cause.message = refusal.message
    return response


def _changed(doc: Doc, target: Target) -> Any:
    response = ListenResponse()
    response.document_change.document.MergeFromString(doc.data)
    response.document_change.target_ids.append(target.id)
    return response


def _gone(kind: str, name: str, target: Target, now: int) -> Any:
    response = ListenResponse()
    gone = getattr(response, kind)
    gone.document = name
    gone.removed_target_ids.append(target.id)
    gone.read_time.CopyFrom(stamp(now))
    return response


def _count(target: Target) -> Any:
    response = ListenResponse()
    response.filter.target_id = target.id
    response.filter.count = len(target.shown)
    return response
