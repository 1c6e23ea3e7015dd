"""The life of a part as a pure function: (state, what was seen, now) → (state, what to do).

waiting ──► starting ──► ready ──► backing_off ──► starting …
               │    └──► done        ▲
               ├─────────────────────┘  (had been ready before)
               └──► failed              (never came up: the stack's start fails)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from mos.local.supervisor.part import Part


class Phase(StrEnum):
    """Where a part is in its life."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DONE = "done"
    BACKING_OFF = "backing_off"
    FAILED = "failed"
    STOPPED = "stopped"


class Do(StrEnum):
    """What the supervisor has to do with the process."""

    NOTHING = "nothing"
    SPAWN = "spawn"
    END = "end"


UP = frozenset({Phase.READY, Phase.DONE})


@dataclass(frozen=True, kw_only=True)
class PartState:
    """`since`: monotonic seconds of the last change of phase. `failures`: bad ends in a row; `restarts`: in all."""

    phase: Phase = Phase.WAITING
    since: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    restarts: int = 0
    was_up: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One look at the process. `exit_code` is None while it runs (or was never started)."""

    exit_code: int | None = None
    ready: bool = False
    dependencies_up: bool = True


def advance(state: PartState, seen: Seen, *, now: float, part: Part) -> tuple[PartState, Do]:
    """The next state, and what to do to the process to get there."""
    match state.phase:
        case Phase.WAITING if seen.dependencies_up:
            return replace(state, phase=Phase.STARTING, since=now), Do.SPAWN
        case Phase.BACKING_OFF if now >= state.retry_at and seen.dependencies_up:
            # Started before what it needs, a client would sit in its own retries long after that is back.
            return replace(state, phase=Phase.STARTING, since=now, restarts=state.restarts + 1), Do.SPAWN
        case Phase.STARTING:
            return _while_starting(state, seen, now=now, part=part)
        case Phase.READY:
            return _while_ready(state, seen, now=now, part=part)
        case Phase.WAITING | Phase.BACKING_OFF | Phase.DONE | Phase.FAILED | Phase.STOPPED:
            return state, Do.NOTHING
        case _:
            assert_never(state.phase)


def _while_starting(state: PartState, seen: Seen, *, now: float, part: Part) -> tuple[PartState, Do]:
    if part.is_step and seen.exit_code == 0:
        return replace(state, phase=Phase.DONE, since=now, was_up=True, reason=""), Do.NOTHING
    if seen.exit_code is not None:
        return _gone(state, f"ended {how(seen.exit_code)} before it was ready", now=now, part=part), Do.END
    if seen.ready:
        return replace(state, phase=Phase.READY, since=now, was_up=True, reason=""), Do.NOTHING
    if now - state.since >= part.start_timeout:
        return _gone(state, f"was not ready within {part.start_timeout:g} s", now=now, part=part), Do.END
    return state, Do.NOTHING


def _while_ready(state: PartState, seen: Seen, *, now: float, part: Part) -> tuple[PartState, Do]:
    steady = now - state.since >= part.restart.steady
    if seen.exit_code is None:
        return (replace(state, failures=0) if steady else state), Do.NOTHING
    # END: what it left behind in its group would hold its port and files.
    return _gone(state, f"ended {how(seen.exit_code)}", now=now, part=part), Do.END


def _gone(state: PartState, reason: str, *, now: float, part: Part) -> PartState:
    failures = state.failures + 1
    phase = Phase.BACKING_OFF if state.was_up else Phase.FAILED
    retry_at = now + part.restart.delay(failures)
    return replace(state, phase=phase, since=now, retry_at=retry_at, failures=failures, reason=reason)


def how(exit_code: int) -> str:
    """An exit code of `subprocess` in words."""
    return f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
