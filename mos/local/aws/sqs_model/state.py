"""One queue's messages: which are visible, which are hidden until when, whose receipt is the newest.

A heap of deadlines and an ordered set of visible messages, so that a receive
costs the same with ten thousand messages in flight. Times are seconds of the
injected clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mos.local.aws.sqs_model.answers import LONGEST_VISIBILITY, bad_receipt, message_gone, not_in_flight, past_the_cap

CLOCK_STEP = 1e-6
"""Seconds by which a deadline may be missed through rounding."""


@dataclass(slots=True, eq=False)
class Stored:
    """One message in one queue; a duplicate is another one with the same id."""

    message_id: str
    body: str
    attributes: Mapping[str, Any]
    sent_at: float
    visible_at: float
    number: int = 0
    receive_count: int = 0
    received_at: float = 0.0
    first_received_at: float = 0.0

    @property
    def received(self) -> bool:
        """Whether anybody ever received it; hidden and never received means delayed."""
        return self.receive_count > 0


class QueueState:
    """The messages and attributes of one queue."""

    def __init__(self, name: str, url: str, arn: str) -> None:
        self.name = name
        self.url = url
        self.arn = arn
        self.attributes: dict[str, str] = {
            "VisibilityTimeout": "30",
            "DelaySeconds": "0",
            "MessageRetentionPeriod": "345600",
            "ReceiveMessageWaitTimeSeconds": "0",
        }
        self._messages: dict[int, Stored] = {}
        self._visible: dict[int, None] = {}
        self._hidden: list[tuple[float, int]] = []
        self._next = 0

    def __iter__(self) -> Iterator[Stored]:
        return iter(list(self._messages.values()))

    def __len__(self) -> int:
        return len(self._messages)

    def number(self, attribute: str) -> int:
        """An attribute as a number."""
        return int(self.attributes[attribute])

    def add(self, message: Stored, now: float) -> None:
        """Store a message under a number of its own."""
        message.number = self._next
        self._next += 1
        self._messages[message.number] = message
        self.show_at(message, message.visible_at, now)

    def show_at(self, message: Stored, moment: float, now: float) -> None:
        """Hide the message until `moment`, or show it behind those that became visible before."""
        self._surface(now)
        message.visible_at = moment
        if moment > now + CLOCK_STEP:
            self._visible.pop(message.number, None)
            heapq.heappush(self._hidden, (moment, message.number))
        else:
            self._visible[message.number] = None

    def remove(self, message: Stored) -> None:
        """Forget the message."""
        self._messages.pop(message.number, None)
        self._visible.pop(message.number, None)

    def clear(self) -> None:
        """Forget all messages; their receipts stay known."""
        self._messages.clear()
        self._visible.clear()
        self._hidden.clear()

    def first_visible(self, now: float, limit: int, *, newest_first: bool = False) -> list[Stored]:
        """Up to `limit` messages that a receive may look at, the longest visible first."""
        self._surface(now)
        numbers = reversed(self._visible) if newest_first else iter(self._visible)
        return [self._messages[number] for number in islice(numbers, limit)]

    def hidden_count(self, now: float) -> int:
        """Messages in flight or delayed."""
        self._surface(now)
        return len(self._messages) - len(self._visible)

    def expired(self, message: Stored, now: float) -> bool:
        """Whether the queue's retention period is over for it, counted from its sending."""
        return message.sent_at + self.number("MessageRetentionPeriod") <= now

    def next_change(self, now: float) -> float | None:
        """When the next hidden message becomes visible by itself."""
        self._surface(now)
        return self._hidden[0][0] if self._hidden else None

    def _surface(self, now: float) -> None:
        while self._hidden:
            moment, number = self._hidden[0]
            message = self._messages.get(number)
            current = message is not None and number not in self._visible and message.visible_at == moment
            if current and moment > now + CLOCK_STEP:
                return
            heapq.heappop(self._hidden)
            if current:
                self._visible[number] = None

    def receipt(self, message: Stored) -> str:
        """The handle of the newest delivery."""
        return f"{self.name}~{message.number}~{message.receive_count}"

    def find(self, handle: str) -> tuple[Stored | None, bool]:
        """The message that a handle was issued for (None: gone), and whether it is its newest receipt.

        Raises:
            Refusal: the handle was never issued by this queue.
        """
        name, _, rest = handle.partition("~")
        number, _, count = rest.partition("~")
        if name != self.name or not (number.isdecimal() and count.isdecimal()) or int(number) >= self._next:
            raise bad_receipt(handle)
        message = self._messages.get(int(number))
        return message, message is not None and int(count) == message.receive_count

    def change_visibility(self, handle: str, seconds: int, now: float) -> None:
        """Reset the window of a message in flight.

        Raises:
            Refusal: not in flight, not the newest receipt, or 12 h since the receive would be passed.
        """
        message, newest = self.find(handle)
        if message is None:
            raise message_gone(handle)
        if not newest:
            raise bad_receipt(handle)
        self._surface(now)
        if message.number in self._visible:
            raise not_in_flight(handle)
        if now + seconds - message.received_at > LONGEST_VISIBILITY:
            raise past_the_cap(seconds)
        self.show_at(message, now + seconds, now)

    def counts(self, now: float) -> dict[str, str]:
        """The three approximate numbers, here exact."""
        self._surface(now)
        hidden = [message for number, message in self._messages.items() if number not in self._visible]
        in_flight = sum(message.received for message in hidden)
        return {
            "ApproximateNumberOfMessages": str(len(self._visible)),
            "ApproximateNumberOfMessagesNotVisible": str(in_flight),
            "ApproximateNumberOfMessagesDelayed": str(len(hidden) - in_flight),
        }
