"""What the queues of one region do with messages, faults included, in neutral words.

Every method but `poll` expects the caller to hold `lock`; `poll` takes it
itself, because it waits, and the lock is never held over a wait.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mos.local.aws.sqs_model.answers import (
    LONGEST_DELAY,
    LONGEST_VISIBILITY,
    Refusal,
    check_message,
    check_range,
    no_queue,
)
from mos.local.aws.sqs_model.faults import Fault, Faults, Kind, Operation
from mos.local.aws.sqs_model.state import CLOCK_STEP, QueueState, Stored

if TYPE_CHECKING:
    from mos.runtime import Event

HOST = "https://sqs.model.local/000000000000"
IN_FLIGHT_LIMIT = 120_000
"""Messages in flight per standard queue; then receives answer OverLimit."""


class Region:
    """The queues of one region under one clock."""

    def __init__(self, now: Callable[[], float], event: Callable[[], Event], faults: Faults) -> None:
        self.now = now
        self.faults = faults
        self.lock = threading.RLock()
        self.queues: dict[str, QueueState] = {}
        self._event = event
        self._waiting: dict[str, list[Event]] = {}
        self._sent = 0

    def queue(self, url_or_name: str) -> QueueState:
        """The queue with this URL or name.

        Raises:
            Refusal: there is none.
        """
        state = self.queues.get(queue_name(url_or_name))
        if state is None:
            raise no_queue()
        return state

    def create(self, name: str, attributes: Mapping[str, Any]) -> QueueState:
        """The queue, made if it is missing; an existing one must have these attributes."""
        wanted = {key: str(value) for key, value in attributes.items()}
        state = self.queues.get(name)
        if state is None:
            state = QueueState(name, f"{HOST}/{name}", f"arn:aws:sqs:model:000000000000:{name}")
            state.attributes |= wanted
            self.queues[name] = state
        elif any(state.attributes.get(key) != value for key, value in wanted.items()):
            raise Refusal("QueueNameExists", "A queue already exists with the same name and a different value.")
        return state

    def send(self, state: QueueState, body: str, delay: int | None, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Store a message; answers as SendMessage does."""
        check_message(body, attributes)
        delay = state.number("DelaySeconds") if delay is None else delay
        check_range("DelaySeconds", delay, 0, LONGEST_DELAY)
        now = self.now()
        fault = self._message_fault(Operation.SEND, state, body, refusal="InternalError")
        kind = fault.kind if fault else None
        self._sent += 1
        message_id = f"00000000-0000-4000-8000-{self._sent:012x}"
        visible_at = now + delay + (fault.seconds if fault and kind is Kind.DELAY else 0.0)
        for _ in range({Kind.LOSE: 0, Kind.DUPLICATE: 2}.get(kind, 1) if kind else 1):
            state.add(Stored(message_id, body, dict(attributes), now, visible_at), now)
        self._wake(state)
        return {"MessageId": message_id, "MD5OfMessageBody": _md5(body)}

    def poll(self, state: QueueState, limit: int, hide: int, wait: int) -> list[dict[str, Any]]:
        """Hand out up to `limit` messages, waiting up to `wait` seconds for the first."""
        deadline = self.now() + wait
        fault = self.faults.on_receive(state.name, self.now())
        kind = fault.kind if fault else None
        if kind is Kind.WITHHOLD:
            return []
        while True:
            event = self._event()
            with self.lock:
                now = self.now()
                taken = self._take(state, limit, hide, newest_first=kind is Kind.REORDER)
                if taken or now >= deadline - CLOCK_STEP:
                    return taken
                change = state.next_change(now)
                waiting = self._waiting.setdefault(state.name, [])
                waiting.append(event)
            try:
                event.wait(min(deadline, deadline if change is None else change) - now)
            finally:
                with self.lock:
                    waiting.remove(event)

    def _take(self, state: QueueState, limit: int, hide: int, *, newest_first: bool) -> list[dict[str, Any]]:
        now = self.now()
        if state.hidden_count(now) >= IN_FLIGHT_LIMIT:
            raise Refusal("OverLimit", "Too many messages in flight.")
        found = state.first_visible(now, limit, newest_first=newest_first)
        while any(self._leaves(state, stored, now) for stored in found):
            found = state.first_visible(now, limit, newest_first=newest_first)
        return [self._hand_out(state, stored, hide) for stored in found]

    def _leaves(self, state: QueueState, stored: Stored, now: float) -> bool:
        """Drop a message that is too old, or move it if it was received as often as allowed; whether it went."""
        if state.expired(stored, now):
            state.remove(stored)
            return True
        return self._redrive(state, stored)

    def _hand_out(self, state: QueueState, stored: Stored, hide: int) -> dict[str, Any]:
        now = self.now()
        stored.receive_count += 1
        stored.received_at = now
        stored.first_received_at = stored.first_received_at or now
        fault = self._message_fault(Operation.RECEIVE, state, stored.body, refusal="")
        state.show_at(stored, now if fault and fault.kind is Kind.DUPLICATE else now + hide, now)
        return {
            "MessageId": stored.message_id,
            "ReceiptHandle": state.receipt(stored),
            "MD5OfBody": _md5(stored.body),
            "Body": stored.body,
            "Attributes": {
                "SentTimestamp": str(round(stored.sent_at * 1000)),
                "ApproximateReceiveCount": str(stored.receive_count),
                "ApproximateFirstReceiveTimestamp": str(round(stored.first_received_at * 1000)),
            },
            "MessageAttributes": dict(stored.attributes),
        }

    def _redrive(self, state: QueueState, stored: Stored) -> bool:
        """Move a message to the dead-letter queue if it was received as often as the policy allows."""
        policy = json.loads(state.attributes.get("RedrivePolicy") or "{}")
        if not policy or stored.receive_count < int(policy["maxReceiveCount"]):
            return False
        target = next((one for one in self.queues.values() if one.arn == policy["deadLetterTargetArn"]), None)
        if target is None:
            return False
        state.remove(stored)
        stored.visible_at = self.now()
        target.add(stored, self.now())
        self._wake(target)
        return True

    def extend(self, state: QueueState, handle: str, seconds: int) -> dict[str, Any]:
        """Reset the window of a message in flight."""
        check_range("VisibilityTimeout", seconds, 0, LONGEST_VISIBILITY)
        body = self.body_of(state, handle)
        fault = self._message_fault(Operation.EXTEND, state, body, refusal="ReceiptHandleIsInvalid")
        if fault is None:
            state.change_visibility(handle, seconds, self.now())
            self._wake(state)
        return {}

    def delete(self, state: QueueState, handle: str) -> dict[str, Any]:
        """Forget a message, if this is its newest receipt."""
        body = self.body_of(state, handle)
        fault = self._message_fault(Operation.DELETE, state, body, refusal="ReceiptHandleIsInvalid")
        stored, newest = state.find(handle)
        if stored is not None and newest and fault is None:
            state.remove(stored)
        return {}

    def body_of(self, state: QueueState, handle: str) -> str:
        """The body of the message that a handle names; empty if it is gone or was never there."""
        try:
            stored, _ = state.find(handle)
        except Refusal:
            return ""
        return stored.body if stored else ""

    def _message_fault(self, operation: Operation, state: QueueState, body: str, *, refusal: str) -> Fault | None:
        fault = self.faults.on_message(operation, state.name, body, self.now())
        if fault is not None and fault.kind is Kind.REFUSE:
            code = fault.code or refusal
            raise Refusal(code, f"The model refuses: {code}.", status=500 if code == "InternalError" else 400)
        return fault

    def _wake(self, state: QueueState) -> None:
        for event in self._waiting.get(state.name, ()):
            event.set()


def queue_name(url_or_name: str) -> str:
    """The last part of a queue's URL, or the name itself."""
    return url_or_name.rsplit("/", 1)[-1]


def _md5(body: str) -> str:
    return hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
