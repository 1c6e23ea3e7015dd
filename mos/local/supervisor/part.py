"""What the supervisor is told about a process."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mos.local.supervisor.errors import StackError
from mos.local.supervisor.probes import Finishes, Ready

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, kw_only=True)
class Restart:
    """Bounded back-off: `first` seconds, doubled up to `longest`, forgotten after `steady` seconds of good running."""

    first: float = 0.25
    longest: float = 15.0
    steady: float = 30.0

    def delay(self, failures: int) -> float:
        """Seconds to wait before start number `failures` + 1 (failures in a row, 1 or more)."""
        return min(self.first * 2.0 ** (failures - 1), self.longest)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One supervised process, in its own session.

    `env` is added to the supervisor's environment (a value of None removes the
    variable). `address` is what a person opens or sets, for the table. Times
    are in seconds.
    """

    name: str
    argv: Sequence[str]
    ready: Ready
    env: Mapping[str, str | None] = field(default_factory=dict)
    depends_on: Sequence[str] = ()
    cwd: Path | None = None
    address: str | None = None
    restart: Restart = field(default_factory=Restart)
    start_timeout: float = 60.0
    stop_timeout: float = 10.0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise StackError(f"the part name {self.name!r} must be lower-case letters, digits and dashes")

    @property
    def is_step(self) -> bool:
        """Whether it is expected to end (see `Finishes`)."""
        return isinstance(self.ready, Finishes)


def in_start_order(parts: Sequence[Part]) -> list[Part]:
    """Dependencies first, otherwise as given; raises StackError for an unknown dependency, a circle or a double."""
    by_name = {part.name: part for part in parts}
    if len(by_name) != len(parts):
        raise StackError("two parts of the stack have the same name; rename one of them")
    ordered: dict[str, Part] = {}
    for part in parts:
        _place(part, by_name, ordered, path=())
    return list(ordered.values())


def _place(part: Part, by_name: Mapping[str, Part], ordered: dict[str, Part], path: tuple[str, ...]) -> None:
    if part.name in ordered:
        return
    if part.name in path:
        raise StackError(f"the parts {' → '.join((*path, part.name))} wait for each other; remove one dependency")
    for name in part.depends_on:
        if name not in by_name:
            raise StackError(f"part {part.name} depends on {name}, which the stack does not have; add it")
        _place(by_name[name], by_name, ordered, (*path, part.name))
    ordered[part.name] = part
