"""Misbehaviour as data: which call or message, and what goes wrong.

A fault is keyed by its site (operation, queue, fields of the message, how many
matches to let pass), never by chance, so that a failing schedule replays and
can be reduced. Some kinds hit a call, some hit single messages:

    call     THROTTLE UNAVAILABLE LOSE_REQUEST LOSE_REPLY OUTAGE
    message  send: DUPLICATE LOSE DELAY REFUSE    receive: DUPLICATE
             extend: REFUSE LOSE                  delete: REFUSE LOSE
    receive  REORDER WITHHOLD
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Operation(StrEnum):
    """What is asked of the queue; a batch is one call of the same operation."""

    SEND = "send"
    RECEIVE = "receive"
    EXTEND = "extend"
    DELETE = "delete"
    OTHER = "other"
    """Creating, looking up and describing queues."""


class Kind(StrEnum):
    """What goes wrong."""

    THROTTLE = "throttle"
    """The call answers RequestThrottled and does nothing."""
    UNAVAILABLE = "unavailable"
    """The call answers 503 and does nothing."""
    LOSE_REQUEST = "lose_request"
    """The call times out and did nothing."""
    LOSE_REPLY = "lose_reply"
    """The call times out although it was done (a send is in the queue, a received message is in flight)."""
    OUTAGE = "outage"
    """Nothing connects between `since` and `until`."""
    DUPLICATE = "duplicate"
    """Sent: stored twice. Received: handed out, yet visible to the next receive as well."""
    LOSE = "lose"
    """Acknowledged without effect: the sent message evaporates, the deleted one comes back, the window stays."""
    DELAY = "delay"
    """Sent: visible `seconds` later than asked."""
    REFUSE = "refuse"
    """The entry fails with `code`; by default a stale receipt, or for a send an internal error."""
    REORDER = "reorder"
    """Received newest first."""
    WITHHOLD = "withhold"
    """The receive answers empty although messages wait."""


CALL_KINDS = frozenset({Kind.THROTTLE, Kind.UNAVAILABLE, Kind.LOSE_REQUEST, Kind.LOSE_REPLY, Kind.OUTAGE})
RECEIVE_KINDS = frozenset({Kind.REORDER, Kind.WITHHOLD})
_ALLOWED: Mapping[Kind, frozenset[Operation]] = {
    Kind.DUPLICATE: frozenset({Operation.SEND, Operation.RECEIVE}),
    Kind.LOSE: frozenset({Operation.SEND, Operation.EXTEND, Operation.DELETE}),
    Kind.DELAY: frozenset({Operation.SEND}),
    Kind.REFUSE: frozenset({Operation.SEND, Operation.EXTEND, Operation.DELETE}),
    Kind.REORDER: frozenset({Operation.RECEIVE}),
    Kind.WITHHOLD: frozenset({Operation.RECEIVE}),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call that reached the model: what it is about, with the bodies of the messages it names."""

    operation: Operation
    method: str
    queue: str
    bodies: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One rule. It hits `times` matches (None: all) after letting `skip` pass, inside its window of virtual time."""

    kind: Kind
    operation: Operation | None = None
    """None: any operation that the kind can hit."""
    queue: str | None = None
    match: Mapping[str, Any] = field(default_factory=dict)
    """Fields that the message's JSON body must have with these values, such as taskId and attempt.
    A receive names no message before it happens, so a call fault on it takes no `match`."""
    skip: int = 0
    times: int | None = 1
    seconds: float = 0.0
    code: str = ""
    since: float = float("-inf")
    until: float = float("inf")

    def __post_init__(self) -> None:
        allowed = _ALLOWED.get(self.kind)
        if allowed and self.operation is not None and self.operation not in allowed:
            raise ValueError(f"{self.kind} cannot happen to {self.operation}; it can to {sorted(allowed)}")
        if self.kind is Kind.DELAY and self.seconds <= 0:
            raise ValueError("a delay needs `seconds` above zero")
        if self.match and self.operation is Operation.RECEIVE and self.kind is not Kind.DUPLICATE:
            raise ValueError("a receive names no message: `match` cannot happen; use `queue` and `skip`")

    def matches(self, operation: Operation, queue: str, bodies: Iterable[str], now: float) -> bool:
        """Whether this site is meant, counting apart."""
        return (
            self.since <= now < self.until
            and self.queue in {None, queue}
            and self._hits(operation)
            and (not self.match or any(_has(body, self.match) for body in bodies))
        )

    def _hits(self, operation: Operation) -> bool:
        if self.operation is not None:
            return operation is self.operation
        allowed = _ALLOWED.get(self.kind)
        return allowed is None or operation in allowed


class Faults:
    """The faults of one run, and how often each kind was hit."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._faults = list(faults)
        self._seen = [0] * len(self._faults)
        self.hits: Counter[Kind] = Counter()

    def add(self, fault: Fault) -> None:
        """One more, from now on."""
        self._faults.append(fault)
        self._seen.append(0)

    def stop(self) -> None:
        """No further fault; `hits` stays."""
        self._faults.clear()
        self._seen.clear()

    def on_call(self, call: Call, now: float) -> Fault | None:
        """The fault that hits this whole call."""
        return self._first(CALL_KINDS, call.operation, call.queue, call.bodies, now)

    def on_receive(self, queue: str, now: float) -> Fault | None:
        """REORDER or WITHHOLD for this receive."""
        return self._first(RECEIVE_KINDS, Operation.RECEIVE, queue, (), now)

    def on_message(self, operation: Operation, queue: str, body: str, now: float) -> Fault | None:
        """The fault that hits this one message."""
        return self._first(_MESSAGE_KINDS, operation, queue, (body,), now)

    def _first(
        self, kinds: frozenset[Kind], operation: Operation, queue: str, bodies: tuple[str, ...], now: float
    ) -> Fault | None:
        chosen = None
        for index, fault in enumerate(self._faults):
            if fault.kind not in kinds or not fault.matches(operation, queue, bodies, now):
                continue
            self._seen[index] += 1
            if chosen is None and _is_due(fault, self._seen[index]):
                chosen = fault
        if chosen is not None:
            self.hits[chosen.kind] += 1
        return chosen


_MESSAGE_KINDS = frozenset(Kind) - CALL_KINDS - RECEIVE_KINDS


def _is_due(fault: Fault, seen: int) -> bool:
    return seen > fault.skip and (fault.times is None or seen <= fault.skip + fault.times)


def _has(body: str, wanted: Mapping[str, Any]) -> bool:
    try:
        fields = json.loads(body)
    except ValueError:
        return False
    return isinstance(fields, dict) and all(key in fields and fields[key] == value for key, value in wanted.items())
