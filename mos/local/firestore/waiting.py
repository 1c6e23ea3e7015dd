"""Waiting for pessimistic locks, outside the engine: by thread, by event loop, or by a simulator's own pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mos.local.firestore.engine import Engine
from mos.local.firestore.errors import Blocked

T = TypeVar("T")
Pause = Callable[[float], None]
STEP = 0.01
"""Seconds between two looks at a lock."""


def patiently(engine: Engine, attempt: Callable[[], T], pause: Pause | None = None) -> T:
    """Try until no lock is in the way, at most for the engine's lock time-out.

    `pause(seconds)` lets others run; without one the thread waits until a transaction ends.

    Raises:
        Refused: ABORTED when the time is over.
    """
    waited = 0.0
    while True:
        try:
            return attempt()
        except Blocked as blocked:
            if waited >= engine.lock_timeout:
                raise blocked.answer from blocked
        if pause is None:
            with engine.lock:
                engine.released.wait(STEP)
        else:
            pause(STEP)
        waited += STEP
