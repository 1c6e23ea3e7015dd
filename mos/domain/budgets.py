"""The joint budget of one task (law 9)."""

from __future__ import annotations

from mos.domain.errors import FailureClass
from mos.domain.model import Task, TaskError
from mos.domain.policy import MAX_EXECUTIONS, MAX_REAPS, MAX_RESENDS, Policy


def may_execute(task: Task) -> bool:
    """Whether one more execution is within the budget."""
    return task.executions < MAX_EXECUTIONS


def may_reap(task: Task) -> bool:
    """Whether one more counted reap or takeover is within the budget."""
    return task.reap_count < MAX_REAPS


def may_resend(task: Task) -> bool:
    """Whether this attempt may be sent once more without a claim."""
    return task.resends < MAX_RESENDS


def last_permitted_failure(task: Task, policy: Policy) -> bool:
    """Whether the failure now at hand is the last one allowed."""
    return task.failures + 1 >= policy.step(task).max_failures


def class_when_spent(error: TaskError | None) -> FailureClass:
    """The class of a task whose budget is used up: its last error's, else stranded (§2.1 rule 3)."""
    return error.failure_class if error is not None else FailureClass.STRANDED_PIPELINE
