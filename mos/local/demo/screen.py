"""The demo's live table. Without a terminal it prints a line whenever something changed."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mos.domain.model import Job, Task
from mos.local.demo.verdict import FaultOutcome, Verdict

SILENCE = 5.0
"""Seconds between two progress lines where there is no terminal."""
STATES = ("waiting", "pending", "queued", "running", "completed", "failed", "dead")


class Screen:
    """Shows progress until the verdict."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._last = ""
        self._said = -SILENCE

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """One line that stays."""
        self._console.print(text, highlight=False)

    def show(self, jobs: list[Job], tasks: list[Task], faults: list[FaultOutcome], elapsed: float) -> None:
        """The state now."""
        if self._live is not None:
            self._live.update(Group(_jobs(jobs, tasks), Text(""), fault_table(faults), Text(f"{elapsed:4.0f} s")))
            return
        counts = Counter(str(task.status) for task in tasks)
        line = "  ".join(f"{state} {counts[state]}" for state in STATES if counts[state])
        if line != self._last and elapsed - self._said >= SILENCE:
            self._last, self._said = line, elapsed
            self.say(f"{elapsed:4.0f} s  {line}")


def _jobs(jobs: list[Job], tasks: list[Task]) -> Table:
    table = Table("job", "status", *STATES, box=None, pad_edge=False)
    for job in jobs:
        counts = Counter(str(task.status) for task in tasks if task.job_id == job.id)
        table.add_row(job.id, str(job.status), *(str(counts[state] or "") for state in STATES))
    return table


def fault_table(faults: list[FaultOutcome]) -> Table:
    """Faults and what became of them."""
    table = Table("fault", "hit", "recovered after", "how", box=None, pad_edge=False)
    for fault in faults:
        if not fault.struck:
            state = "to come"
        elif fault.seconds is None:
            state = "recovering …"
        else:
            state = f"{fault.seconds:.0f} s"
        table.add_row(fault.name, fault.subject, state, fault.how)
    return table


def summary(console: Console, verdict: Verdict) -> None:
    """The end: what was injected, recovered, lost and doubled."""
    console.print(fault_table(list(verdict.faults)))
    recovered = sum(fault.recovered for fault in verdict.faults)
    console.print()
    console.print(f"jobs completed       {verdict.completed} of {verdict.jobs}", highlight=False)
    console.print(f"faults injected      {sum(fault.struck for fault in verdict.faults)}", highlight=False)
    console.print(f"faults recovered     {recovered}", highlight=False)
    console.print(f"lost                 {len(verdict.lost)}", highlight=False)
    console.print(f"duplicated effects   {len(verdict.duplicated)}", highlight=False)
    middle, longest = verdict.recovery_time(0.5), verdict.recovery_time(1.0)
    if middle is not None and longest is not None:
        console.print(f"time to recover      median {middle:.0f} s, longest {longest:.0f} s", highlight=False)
    for line in (*verdict.lost, *verdict.duplicated):
        console.print(f"  {line}", style="red", highlight=False)
    console.print()
    if verdict.good:
        console.print("PASSED: every fault struck, all of it was recovered, nothing was lost or done twice")
    else:
        console.print("FAILED: see above, and the logs under the state directory", style="red")
