"""The one hierarchy of errors (specification §1.6).

AppError                  code, message, details, retryable, cause
├── ExternalServiceError  + service, status
│   ├── VeoError, GeminiError, NexrenderError   providers and the render farm
│   ├── StorageError                            S3, disk
│   ├── QueueError                              SQS
│   └── StateStoreError                         Firestore
│       └── UnknownOutcome                      the write may or may not have happened
├── PipelineStateError    the state does not allow what was asked
│   └── LawViolation      one of the twelve laws would be broken by this write
├── ConflictError         a fence did not match: somebody else was first
│   └── LeaseLost         this worker no longer owns the task
├── CreditError           the customer's credits do not cover it
├── ValidationError       an input is malformed; names the field
└── SettingsError         the process was configured wrongly; names the setting
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class FailureClass(StrEnum):
    """Why production failed (specification §3.5)."""

    INFRASTRUCTURE = "infrastructure"
    TEMPLATE_TRANSFER = "template_transfer"
    PROVIDER_TIMEOUT = "provider_timeout"
    STRANDED_PIPELINE = "stranded_pipeline"
    TEMPLATE_UNAVAILABLE = "template_unavailable"
    PROVIDER_REJECTION = "provider_rejection"
    MEDIA_OR_TEMPLATE = "media_or_template"
    UNKNOWN = "unknown"

    @property
    def retryable(self) -> bool:
        """Whether automation may try again (a wrong yes burns credits, a wrong no costs a person a minute)."""
        return self in TRANSIENT


TRANSIENT = frozenset(
    {
        FailureClass.INFRASTRUCTURE,
        FailureClass.TEMPLATE_TRANSFER,
        FailureClass.PROVIDER_TIMEOUT,
        FailureClass.STRANDED_PIPELINE,
    }
)


class AppError(Exception):
    """Anything the product itself raises. The text says what to do."""

    default_code = "app_error"
    default_retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.retryable = self.default_retryable if retryable is None else retryable
        self.details: dict[str, Any] = dict(details or {})

    @property
    def cause(self) -> BaseException | None:
        """The foreign exception below this one, if any."""
        return self.__cause__


class ExternalServiceError(AppError):
    """A service that we call failed."""

    default_code = "external_service"
    default_retryable = True
    default_service = "external"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        service: str | None = None,
        status: int | None = None,
        retryable: bool | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, code=code, retryable=retryable, details=details)
        self.service = service or self.default_service
        self.status = status


class VeoError(ExternalServiceError):
    """The video provider failed."""

    default_service = "veo"


class GeminiError(ExternalServiceError):
    """The image provider failed."""

    default_service = "gemini"


class NexrenderError(ExternalServiceError):
    """The render farm's server failed."""

    default_service = "nexrender"


class StorageError(ExternalServiceError):
    """An object or a file could not be read or written."""

    default_service = "storage"


class QueueError(ExternalServiceError):
    """A queue call failed."""

    default_service = "sqs"


class StateStoreError(ExternalServiceError):
    """The state store refused or could not be reached; nothing was written."""

    default_service = "firestore"


class UnknownOutcome(StateStoreError):
    """A write may or may not have been applied and could not be read back. Never a failure of the work."""

    default_code = "unknown_outcome"


class PipelineStateError(AppError):
    """The state of the pipeline does not allow what was asked."""

    default_code = "pipeline_state"


class LawViolation(PipelineStateError):
    """A write that would break one of the twelve laws. It is refused whole."""

    default_code = "law_violation"


class ConflictError(AppError):
    """A fence did not match: what was observed is no longer so."""

    default_code = "conflict"


class LeaseLost(ConflictError):
    """The lease ran out or belongs to somebody else: stop, and commit nothing."""

    default_code = "lease_lost"


class CreditError(AppError):
    """The customer's credits do not cover the work."""

    default_code = "credit"


class ValidationError(AppError):
    """An input is malformed. `details["field"]` names the field."""

    default_code = "validation"

    @classmethod
    def of_field(cls, field: str, problem: str) -> ValidationError:
        """An error that names the offending field."""
        return cls(f"{field}: {problem}", details={"field": field})


class SettingsError(AppError):
    """The process was configured wrongly. `details["field"]` names the setting."""

    default_code = "settings"


def classify_unknown(exc: BaseException) -> AppError:
    """The single place where a foreign exception becomes an `AppError`.

    The original stays in `__cause__`; its type and text become the details, so
    that the taxonomy can read structured facts rather than a rendered string.
    """
    if isinstance(exc, AppError):
        return exc
    text = " ".join(str(exc).split()) or type(exc).__name__
    details = {"exceptionType": f"{type(exc).__module__}.{type(exc).__qualname__}"}
    error: AppError
    if isinstance(exc, OSError) and exc.errno is not None:
        error = StorageError(text, code=f"errno_{exc.errno}", details=details)
    elif isinstance(exc, (TimeoutError, ConnectionError)):
        error = ExternalServiceError(text, code="connection", details=details)
    else:
        error = AppError(text, code="unexpected", details=details)
    error.__cause__ = exc
    return error


def failure_class_of(error: AppError) -> FailureClass:
    """The class of an error that says so itself, else `unknown`.

    Reads structured facts only. The text rules of the taxonomy stand above this.
    """
    declared = error.details.get("failureClass")
    if declared in set(FailureClass):
        return FailureClass(declared)
    if isinstance(error, StorageError) and error.code in _DISK_FULL:
        return FailureClass.INFRASTRUCTURE
    if isinstance(error, (VeoError, GeminiError)) and error.retryable:
        return FailureClass.PROVIDER_TIMEOUT
    return FailureClass.UNKNOWN


_DISK_FULL = frozenset({"errno_28", "errno_122"})  # ENOSPC, EDQUOT
