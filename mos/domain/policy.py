"""What the rules are parametrised by: the pipeline and the durations, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mos.domain.errors import SettingsError
from mos.domain.model import Task
from mos.domain.pipeline import Pipeline, StepSpec
from mos.domain.timings import Timings

MAX_REAPS = 3
"""Reaps or takeovers of one task (law 9)."""
MAX_EXECUTIONS = 8
"""Executions of one task in all, whatever ended them (law 9)."""
MAX_RESENDS = 3
"""Re-sends of one attempt without a claim (§3.2)."""
RENEWALS_IN_A_WINDOW = 3
"""A window shorter than the usual one is renewed after a third of it (§2.1 rule 4)."""
MAX_TASKS_PER_JOB = 500
"""So that every act on a job is one transaction (§1.4)."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Pipeline and timings."""

    pipeline: Pipeline
    timings: Timings = field(default_factory=Timings)

    def __post_init__(self) -> None:
        """Refuse a window that ends before a lease in it could be renewed.

        Raises:
            SettingsError: names the step.
        """
        for step in self.pipeline.steps.values():
            if self.lease(step) <= self.window(step) / RENEWALS_IN_A_WINDOW:
                raise SettingsError(
                    f"steps.{step.name}.visibility_seconds: a window of {self.window(step)} is too short for a lease "
                    f"that ends {self.timings.lease_margin} before it",
                    details={"field": f"steps.{step.name}.visibility_seconds"},
                )

    def step(self, task: Task) -> StepSpec:
        """The declared step of a task."""
        return self.pipeline.step(task.step_type)

    def pickup(self, task: Task) -> timedelta:
        """How long a task may wait for its claim; one of an unknown step as long as a job may stand still."""
        step = self.pipeline.steps.get(task.step_type)
        return step.pickup_ttl if step is not None and not step.messages_only else self.timings.stalled_after

    def lease_end(self, task: Task) -> datetime | None:
        """When the right to work on a running task ends; None where nothing tells.

        An older writer's worker holds no lease: its step's time-to-live is the only evidence there is.
        """
        if task.lease is not None:
            return task.lease.expires_at
        since = task.started_at or task.queued_at or task.updated_at
        step = self.pipeline.steps.get(task.step_type)
        known = step is not None and not step.messages_only
        return since + (step.running_ttl if step and known else self.timings.stalled_after) if since else None

    def window(self, step: StepSpec) -> timedelta:
        """The visibility window of a message: the smaller of ours and the queue's own (§2.1 rule 2)."""
        return min(self.timings.visibility, step.visibility)

    def lease(self, step: StepSpec) -> timedelta:
        """How long a lease of that step lasts: it ends a margin before the window does."""
        return self.window(step) - self.timings.lease_margin

    def scaled(self, scale: float) -> Policy:
        """The same rules in the demo's time."""
        return Policy(pipeline=self.pipeline.scaled(scale), timings=self.timings.scaled(scale))
