"""Which runs are dead: a pure decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """The states in which a run holds its deployment's slot."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    CANCELLING = "CANCELLING"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that holds a slot."""

    id: str
    name: str
    state: RunState


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds for which a run without a process is left alone.

    A run reports its end before its process goes, so two looks are enough.
    Pending comes before the process: the worker needs time to start it, more
    on a busy machine.
    """

    running: float = 2.0
    pending: float = 20.0

    def of(self, state: RunState) -> float:
        """The patience with a run in this state."""
        return self.pending if state is RunState.PENDING else self.running


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A run without a process: in which state, and since when (monotonic seconds)."""

    state: RunState
    since: float


def still_missing(
    runs: Iterable[Run], *, alive: frozenset[str], before: Mapping[str, Missing], now: float
) -> dict[str, Missing]:
    """The runs without a process on this machine, by id; a change of state starts the count anew."""
    missing = {run.id: run for run in runs if run.id not in alive}
    return {
        id_: seen if (seen := before.get(id_)) and seen.state is run.state else Missing(state=run.state, since=now)
        for id_, run in missing.items()
    }


def condemned(missing: Mapping[str, Missing], *, now: float, patience: Patience) -> dict[str, str]:
    """The ids of the dead, each with the sentence that says why."""
    return {
        id_: f"{seen.state.capitalize()}, but without a process for {now - seen.since:.0f} s: it was killed"
        for id_, seen in missing.items()
        if now - seen.since >= patience.of(seen.state)
    }
