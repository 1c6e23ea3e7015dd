"""What the demo proves, from documents and log alone: nothing lost, nothing done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from mos.domain.model import Job, JobStatus, Task, TaskStatus


@dataclass(frozen=True)
class FaultOutcome:
    """One fault and what became of it. `seconds` from the strike to the recovery."""

    name: str
    subject: str
    struck: bool
    seconds: float | None
    how: str

    @property
    def recovered(self) -> bool:
        return self.struck and self.seconds is not None


@dataclass(frozen=True)
class Verdict:
    """The demo's result. `duplicated` counts completions and hand-overs that took effect twice."""

    jobs: int
    completed: int
    lost: tuple[str, ...]
    duplicated: tuple[str, ...]
    faults: tuple[FaultOutcome, ...]

    @property
    def good(self) -> bool:
        """Every job delivered, every fault struck and recovered, nothing lost or doubled."""
        whole = self.jobs > 0 and self.completed == self.jobs and not self.lost and not self.duplicated
        return whole and bool(self.faults) and all(fault.recovered for fault in self.faults)

    def recovery_time(self, share: float) -> float | None:
        """The time to recover below which `share` of the faults lie, in seconds."""
        times = sorted(fault.seconds for fault in self.faults if fault.seconds is not None)
        if not times:
            return None
        return times[min(len(times), max(1, ceil(share * len(times)))) - 1]


def lost(jobs: Iterable[Job], tasks: Iterable[Task]) -> tuple[str, ...]:
    """Everything that did not end completed."""
    missing = [f"job {job.id} is {job.status}" for job in jobs if job.status is not JobStatus.COMPLETED]
    return tuple(missing + [f"task {t.id} is {t.status}" for t in tasks if t.status is not TaskStatus.COMPLETED])


def duplicated(log: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Effects that took place twice: a completion, or a successor queued twice by completions."""
    completions: Counter[str] = Counter()
    hand_overs: Counter[str] = Counter()
    for entry in log:
        for change in entry.get("changes", ()):
            path, before, after = change["path"], change["before"], change["after"]
            if after == "completed" and before != "completed":
                completions[path] += 1
            if entry.get("act") == "complete" and before == "waiting" and after == "queued":
                hand_overs[path] += 1
    twice = [f"{path} was completed {count} times" for path, count in completions.items() if count > 1]
    return tuple(twice + [f"{path} was queued {count} times" for path, count in hand_overs.items() if count > 1])
