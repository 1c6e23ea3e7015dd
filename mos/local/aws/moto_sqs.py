"""Two corrections to moto's SQS that a stack with several workers needs.

A receive, a send and a delete share unguarded lists: in a threaded server two
receives can hand out one message (seen once in a thousand with two busy
workers), and a send that meets a delete can be lost. Each is put under one
lock; a long poll becomes passes under the lock with moto's own wait between
them. And a receive reads the retention period without counting the queue.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from moto.core.utils import unix_time
from moto.sqs.models import Message, SQSBackend

SERIAL = threading.RLock()
"""Held while messages are looked at or changed, never while a long poll waits."""
_LONGEST_WAIT = 1.0
"""Seconds between looks, since nothing tells when a hidden message becomes visible."""
_GUARDED = (
    "send_message",
    "send_message_batch",
    "delete_message",
    "delete_message_batch",
    "change_message_visibility",
    "change_message_visibility_batch",
    "purge_queue",
)


@functools.cache
def correct_moto_sqs() -> None:
    """Apply both corrections to this process, once."""
    for name in _GUARDED:
        setattr(SQSBackend, name, _guarded(getattr(SQSBackend, name)))
    SQSBackend.receive_message = _receive_in_passes(SQSBackend.receive_message)  # type: ignore[method-assign]
    SQSBackend.is_message_valid_based_on_retention_period = _still_valid  # type: ignore[method-assign]


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with SERIAL:
            return method(*args, **kwargs)

    return guarded


def _receive_in_passes(one_pass: Callable[..., list[Message]]) -> Callable[..., list[Message]]:
    @functools.wraps(one_pass)
    def receive(
        self: SQSBackend,
        queue_name: str,
        count: int,
        wait_seconds_timeout: int,
        visibility_timeout: int,
        message_attribute_names: list[str] | None = None,
    ) -> list[Message]:
        deadline = time.monotonic() + wait_seconds_timeout
        while True:
            with SERIAL:
                found = one_pass(self, queue_name, count, 0, visibility_timeout, message_attribute_names)
                queue: Any = self.get_queue(queue_name)
            remaining = deadline - time.monotonic()
            if found or remaining <= 0:
                return found
            queue.wait_for_messages(min(_LONGEST_WAIT, remaining))

    return receive


def _still_valid(self: SQSBackend, queue_name: str, message: Message) -> bool:
    """Moto's rule, without its detour: it counts all messages of the queue several times for each one handed out."""
    queue: Any = self.get_queue(queue_name)
    return bool(queue.message_retention_period + (message.sent_timestamp or 0) / 1000 > unix_time())
