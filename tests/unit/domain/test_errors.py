"""Foreign exceptions become ours in one place."""

from __future__ import annotations

import errno

import pytest

from mos.domain import budgets
from mos.domain.errors import (
    AppError,
    FailureClass,
    GeminiError,
    StateStoreError,
    StorageError,
    UnknownOutcome,
    ValidationError,
    VeoError,
    classify_unknown,
    failure_class_of,
)
from tests.builders import error, policy, task


@pytest.mark.parametrize(
    ("cls", "retryable"),
    [
        ("infrastructure", True),
        ("template_transfer", True),
        ("provider_timeout", True),
        ("stranded_pipeline", True),
        ("template_unavailable", False),
        ("provider_rejection", False),
        ("media_or_template", False),
        ("unknown", False),
    ],
)
def test_what_automation_may_try_again(cls: str, retryable: bool) -> None:
    assert FailureClass(cls).retryable is retryable


def test_our_own_errors_stay_what_they_are() -> None:
    own = ValidationError.of_field("taskId", "missing")
    assert classify_unknown(own) is own
    assert (own.details["field"], str(own)) == ("taskId", "taskId: missing")


@pytest.mark.parametrize(
    ("foreign", "kind", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), StorageError, "errno_28"),
        (TimeoutError("slow"), AppError, "connection"),
        (ConnectionResetError("reset"), AppError, "connection"),
        (KeyError("x"), AppError, "unexpected"),
    ],
)
def test_a_foreign_exception_keeps_its_facts_and_stays_the_cause(
    foreign: Exception, kind: type[AppError], code: str
) -> None:
    ours = classify_unknown(foreign)
    assert isinstance(ours, kind)
    assert (ours.code, ours.cause) == (code, foreign)
    assert type(foreign).__qualname__ in ours.details["exceptionType"]


def test_an_exception_without_a_text_is_named() -> None:
    assert str(classify_unknown(ValueError())) == "ValueError"
    assert str(classify_unknown(ValueError("two\nlines"))) == "two lines"


@pytest.mark.parametrize(
    ("found", "cls"),
    [
        (AppError("x", details={"failureClass": "provider_rejection"}), "provider_rejection"),
        (AppError("x", details={"failureClass": "nonsense"}), "unknown"),
        (StorageError("x", code="errno_28"), "infrastructure"),
        (StorageError("x", code="errno_122"), "infrastructure"),
        (StorageError("x", code="errno_2"), "unknown"),
        (VeoError("524"), "provider_timeout"),
        (GeminiError("400", retryable=False), "unknown"),
        (AppError("x"), "unknown"),
    ],
)
def test_the_class_comes_from_structured_facts(found: AppError, cls: str) -> None:
    assert failure_class_of(found) == cls


def test_an_unknown_outcome_is_a_trouble_of_the_store_not_of_the_work() -> None:
    unknown = UnknownOutcome("?")
    assert isinstance(unknown, StateStoreError)
    assert (unknown.service, unknown.code, unknown.retryable) == ("firestore", "unknown_outcome", True)


def test_budgets_end_at_three_reaps_three_sendings_eight_executions_and_three_failures() -> None:
    assert [budgets.may_reap(task(reap_count=n)) for n in (2, 3)] == [True, False]
    assert [budgets.may_resend(task(resends=n)) for n in (2, 3)] == [True, False]
    assert [budgets.may_execute(task(executions=n)) for n in (7, 8)] == [True, False]
    assert [budgets.last_permitted_failure(task(failures=n), policy()) for n in (1, 2)] == [False, True]
    voice = {"step_type": "voice_training"}
    assert [budgets.last_permitted_failure(task(failures=n, **voice), policy()) for n in (6, 7)] == [False, True]


def test_the_class_of_a_spent_task_is_its_last_errors() -> None:
    assert budgets.class_when_spent(error("infrastructure")) == "infrastructure"
    assert budgets.class_when_spent(None) == "stranded_pipeline"
