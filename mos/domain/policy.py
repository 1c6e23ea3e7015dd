"""What the rules are parametrised by: the pipeline and the durations, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from mos.domain.model import Task
from mos.domain.pipeline import Pipeline, StepSpec
from mos.domain.timings import Timings

MAX_REAPS = 3
"""Reaps or takeovers of one task (law 9)."""
MAX_EXECUTIONS = 8
"""Executions of one task in all, whatever ended them (law 9)."""
MAX_RESENDS = 3
"""Re-sends of one attempt without a claim (§3.2)."""
MAX_TASKS_PER_JOB = 500
"""So that every act on a job is one transaction (§1.4)."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Pipeline and timings."""

    pipeline: Pipeline
    timings: Timings = field(default_factory=Timings)

    def step(self, task: Task) -> StepSpec:
        """The declared step of a task."""
        return self.pipeline.step(task.step_type)

    def window(self, step: StepSpec) -> timedelta:
        """The visibility window of a message: the smaller of ours and the queue's own (§2.1 rule 2)."""
        return min(self.timings.visibility, step.visibility)

    def lease(self, step: StepSpec) -> timedelta:
        """How long a lease of that step lasts: it ends a margin before the window does."""
        return self.window(step) - self.timings.lease_margin

    def scaled(self, scale: float) -> Policy:
        """The same rules in the demo's time."""
        return Policy(pipeline=self.pipeline.scaled(scale), timings=self.timings.scaled(scale))
