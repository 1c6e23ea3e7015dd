"""What every mission offers, and how one is run without Prefect (§3.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from mos import logs
from mos.domain.errors import AppError

T = TypeVar("T")
log = logs.logger(__name__)


class Outcome(StrEnum):
    """What became of one act."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    """Its fence did not match: somebody else was first. Not an error."""
    FAILED = "failed"


@dataclass(frozen=True)
class ActResult:
    """One act and what became of it. A pass that failed is a result without an act."""

    kind: str
    subject: str
    reason: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """What one run saw and did."""

    mission: str
    results: tuple[ActResult, ...] = ()
    notes: tuple[str, ...] = ()
    failed_passes: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def summary(self) -> str:
        """One line for a person."""
        if self.dry_run:
            return "; ".join((f"dry run: {len(self.results)} acts planned, nothing written", *self.notes))
        counts = Counter(f"{result.kind} {result.outcome}" for result in self.results)
        done = ", ".join(f"{count} × {name}" for name, count in sorted(counts.items())) or "nothing was due"
        return "; ".join((done, *self.notes))

    def rows(self) -> list[dict[str, str]]:
        """A table for the run's page."""
        return [
            {
                "act": result.kind,
                "subject": result.subject,
                "why": result.reason,
                "outcome": str(result.outcome),
                "detail": result.detail,
            }
            for result in self.results
        ]


class Plan(Protocol):
    """What a decision wants done."""

    @property
    def acts(self) -> tuple[Any, ...]: ...
    def rows(self) -> list[dict[str, str]]: ...


class Mission(Protocol):
    """One recovery mission. `name` is also its deployment's and its heartbeat's."""

    name: str
    passes: Passes
    """What failed in this run, a dry one too."""

    def superseded(self, scheduled: datetime) -> bool:
        """Whether another run started after this one was due: then this one is stale (§3.10)."""
        ...

    def started(self) -> None:
        """Stamp the heartbeat."""
        ...

    def observe(self) -> Any: ...
    def decide(self, observed: Any) -> Plan: ...
    def act(self, plan: Any) -> Sequence[ActResult]: ...
    def report(self, plan: Any, results: Any) -> Report: ...


def noted(failed: Mapping[str, str]) -> tuple[str, ...]:
    """A note for each pass that failed."""
    return tuple(f"pass failed: {name}: {problem}" for name, problem in failed.items())


def run(mission: Mission, *, dry_run: bool = False) -> Report:
    """One tick, here and now.

    Raises:
        AppError: not even the observation could be made.
    """
    if not dry_run:
        mission.started()
    plan = mission.decide(mission.observe())
    if dry_run:
        planned = [
            ActResult(row.get("act", ""), row.get("subject", ""), row.get("why", ""), Outcome.DONE, "planned")
            for row in plan.rows()
        ]
        failed = mission.passes.failed
        return Report(mission.name, tuple(planned), noted(failed), tuple(failed), dry_run=True)
    return mission.report(plan, mission.act(plan))


@dataclass
class Passes:
    """Runs the passes of one tick: an exception in one never keeps another from running."""

    failed: dict[str, str] = field(default_factory=dict)

    def attempt(self, name: str, work: Callable[[], T], otherwise: T) -> T:
        """The pass's result, or `otherwise` when it failed, which is noted."""
        try:
            return work()
        except AppError as error:
            self.failed[name] = error.message
            log.warning("a pass failed; the others go on", mission_pass=name, problem=error.message, code=error.code)
        except Exception as error:
            self.failed[name] = f"{type(error).__name__}: {error}"
            log.exception("a pass failed; the others go on", mission_pass=name)
        return otherwise
