"""The parts of one running stack: their states and processes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psutil

from mos.local.supervisor.ending import end_all
from mos.local.supervisor.layout import fresh_log, log_file
from mos.local.supervisor.machine import UP, Do, PartState, Phase, Seen, advance
from mos.local.supervisor.part import Part
from mos.local.supervisor.process import Child, mark_of, spawn
from mos.local.supervisor.record import PartRecord
from mos.runtime import Runtime

_LEFT_BEHIND_GRACE = 1.0
"""What a dead part left behind gets this long to end before its restart: others must be watched meanwhile."""


class Crew:
    """Used by the supervisor's thread alone, but for `records`."""

    def __init__(self, parts: Sequence[Part], state_dir: Path, runtime: Runtime) -> None:
        self._parts = parts
        self._runtime = runtime
        self._state_dir = state_dir
        self._mark = mark_of(state_dir)
        self._states = {part.name: PartState() for part in parts}
        self._children: dict[str, Child] = {}

    def tick(self) -> None:
        """Look at every part once and do what its state asks for."""
        for part in self._parts:
            state = self._states[part.name]
            new, do = advance(state, self._look(part, state), now=self._runtime.monotonic(), part=part)
            self._states[part.name] = new
            if do is Do.SPAWN:
                self._spawn(part)
            elif do is Do.END:
                self._end([part], timeout=min(part.stop_timeout, _LEFT_BEHIND_GRACE))

    def is_up(self) -> bool:
        """Whether every part is ready (or done) now."""
        return all(state.phase in UP for state in self._states.values())

    def is_calm(self) -> bool:
        """Whether nothing is about to happen."""
        return self.is_up()

    def records(self) -> tuple[PartRecord, ...]:
        """The parts as they are now, in start order."""
        return tuple(self._record(part) for part in self._parts)

    def end(self) -> None:
        """End all, dependants before what they depend on; then whatever still carries the stack's mark."""
        for level in self._levels():
            self._end(level, timeout=max(part.stop_timeout for part in level))
        end_all([], marks=[self._mark], timeout=_LEFT_BEHIND_GRACE)
        self._states = {name: PartState(phase=Phase.STOPPED) for name in self._states}

    def _look(self, part: Part, state: PartState) -> Seen:
        child = self._children.get(part.name)
        exit_code = child.exit_code() if child else None
        starting = state.phase is Phase.STARTING and child is not None and exit_code is None
        return Seen(
            exit_code=exit_code,
            ready=starting and child is not None and child.is_ready(part),
            dependencies_up=all(self._states[name].phase in UP for name in part.depends_on),
        )

    def _spawn(self, part: Part) -> None:
        first = part.name not in self._children
        log = fresh_log(self._state_dir, part.name) if first else log_file(self._state_dir, part.name)
        self._children[part.name] = spawn(part, mark=self._mark, log=log)

    def _end(self, parts: Sequence[Part], *, timeout: float) -> None:
        children = [self._children[part.name] for part in parts if part.name in self._children]
        living = [psutil.Process(child.process.pid) for child in children if child.exit_code() is None]
        end_all(living, marks=[f"{self._mark}/{part.name}" for part in parts], timeout=timeout)
        for child in children:
            child.process.wait()

    def _levels(self) -> list[list[Part]]:
        """Parts of equal distance from the start, the farthest first."""
        depth: dict[str, int] = {}
        for part in self._parts:
            depth[part.name] = 1 + max((depth[name] for name in part.depends_on), default=0)
        return [[p for p in self._parts if depth[p.name] == d] for d in sorted(set(depth.values()), reverse=True)]

    def _record(self, part: Part) -> PartRecord:
        state, child = self._states[part.name], self._children.get(part.name)
        running = child is not None and state.phase in {Phase.STARTING, Phase.READY}
        return PartRecord(
            name=part.name,
            phase=state.phase,
            pid=child.process.pid if child and running else None,
            identity=child.identity if child and running else None,
            restarts=state.restarts,
            address=part.address,
            log=log_file(self._state_dir, part.name),
            reason=state.reason,
        )
