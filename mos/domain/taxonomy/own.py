"""The class of our own errors, from the structured facts they carry (specification §1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mos.domain.errors import (
    AppError,
    ConflictError,
    CreditError,
    ExternalServiceError,
    FailureClass,
    GeminiError,
    PipelineStateError,
    SettingsError,
    StateStoreError,
    StorageError,
    ValidationError,
    VeoError,
    failure_class_of,
)
from mos.domain.taxonomy.causes import Classification
from mos.domain.taxonomy.decide import NOTHING, classify_production_failure

_DECLARED = "own.declared"
_SERVICES = {"storage": "s3", "external": ""}
_CAUSES = 5
"""How many exceptions below one are read: the innermost names the cause."""


def classify_error(error: AppError, context: Mapping[str, Any] | None = None) -> Classification:
    """The class of one of our errors.

    What the error declares (`details["failureClass"]`) is a decision of the code
    that raised it and stands. Else its service, status, code and the exceptions
    below it are read like any other structured error; where they say nothing,
    its kind decides.
    """
    if error.details.get("failureClass") in set(FailureClass):
        return Classification(
            failure_class=failure_class_of(error), rule=_DECLARED, evidence=f"failureClass of {error.code}"
        )
    if isinstance(error, (ValidationError, SettingsError, PipelineStateError)):
        return _by_kind(error)
    read = classify_production_failure(_facts(error), _with_service(error, context))
    return _by_kind(error) if read.rule == NOTHING else read


def _facts(error: AppError) -> dict[str, Any]:
    """What the error knows, the exceptions below it innermost."""
    facts: dict[str, Any] = {"exceptionType": error.details.get("exceptionType", ""), "message": error.message}
    facts["code"] = error.code.removeprefix("errno_") if error.code.startswith("errno_") else error.code
    if error.code.startswith("errno_"):
        facts["errno"] = facts.pop("code")
    if isinstance(error, ExternalServiceError) and error.status is not None:
        facts["status"] = error.status
    inner: dict[str, Any] = facts
    below = error.cause
    for _ in range(_CAUSES):
        if below is None:
            break
        inner["cause"] = {"error": below}
        inner, below = inner["cause"], below.__cause__
    return facts


def _with_service(error: AppError, context: Mapping[str, Any] | None) -> dict[str, Any]:
    known = dict(context or {})
    of_the_system = error.code.startswith("errno_")  # any errno, of a socket too: no service of ours spoke
    if isinstance(error, ExternalServiceError) and not of_the_system and not known.get("service"):
        known["service"] = _SERVICES.get(error.service, error.service)
    return known


def _by_kind(error: AppError) -> Classification:
    match error:
        case CreditError():
            kind = FailureClass.PROVIDER_REJECTION
        case VeoError() | GeminiError() | StateStoreError() if error.retryable:
            kind = FailureClass.PROVIDER_TIMEOUT
        case StorageError() if error.retryable and error.code == "connection":
            kind = FailureClass.TEMPLATE_TRANSFER
        case ConflictError():
            kind = FailureClass.STRANDED_PIPELINE
        case _:
            kind = FailureClass.UNKNOWN
    return Classification(failure_class=kind, rule=f"own.{type(error).__name__}", evidence=error.code)
