"""Our own errors are classified by what they carry."""

from __future__ import annotations

import errno

import pytest

from mos.domain.errors import (
    AppError,
    CreditError,
    GeminiError,
    LeaseLost,
    NexrenderError,
    QueueError,
    SettingsError,
    StateStoreError,
    StorageError,
    ValidationError,
    VeoError,
    classify_unknown,
)
from mos.domain.taxonomy import classify_error


@pytest.mark.parametrize(
    ("error", "cls"),
    [
        (AppError("x", details={"failureClass": "media_or_template"}), "media_or_template"),
        (AppError("x", details={"failureClass": "nonsense"}), "unknown"),
        (AppError("x"), "unknown"),
        (StorageError("x", code="errno_28"), "infrastructure"),
        (StorageError("x", code="errno_122"), "infrastructure"),
        (StorageError("x", code="connection"), "template_transfer"),
        (StorageError("there is no object", code="not_found", status=404), "media_or_template"),
        (StorageError("slow", code="SlowDown", status=503), "template_transfer"),
        (VeoError("the provider answered 524", status=524), "provider_timeout"),
        (VeoError("no answer"), "provider_timeout"),
        (GeminiError("refused", status=400, retryable=False), "provider_rejection"),
        (GeminiError("IMAGE_SAFETY", code="IMAGE_SAFETY", retryable=False), "provider_rejection"),
        (QueueError("x", code="ReceiptHandleIsInvalid"), "stranded_pipeline"),
        (LeaseLost("the lease ran out"), "stranded_pipeline"),
        (StateStoreError("the state store refused"), "provider_timeout"),
        (CreditError("no credits"), "provider_rejection"),
        (NexrenderError("nexrender gave no usable answer", code="unknown_answer"), "unknown"),
        (ValidationError.of_field("timeout", "HTTP 503"), "unknown"),
        (SettingsError("the rate limit is wrong"), "unknown"),
        (classify_unknown(OSError(errno.ENOSPC, "No space left on device")), "infrastructure"),
        (classify_unknown(MemoryError("cannot allocate")), "infrastructure"),
        (classify_unknown(KeyError("rate_limit")), "unknown"),
        (classify_unknown(ConnectionResetError(104, "reset")), "provider_timeout"),
    ],
    ids=lambda value: f"{type(value).__name__}-{value}"[:60],
)
def test_an_error_of_ours_gets_its_class(error: AppError, cls: str) -> None:
    assert classify_error(error, {"step": "image_edit"}).failure_class == cls


def test_what_an_error_declares_stands_whatever_its_text_says() -> None:
    declared = AppError("HTTP 503 ENOSPC", details={"failureClass": "media_or_template"})
    assert classify_error(declared).rule == "own.declared"


def test_the_exception_below_an_error_names_the_cause() -> None:
    error = StorageError("writing the result failed", retryable=False)
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert classify_error(error).failure_class == "infrastructure"


def test_causes_that_form_a_ring_are_read_once() -> None:
    error, below = AppError("odd"), AppError("odder")
    error.__cause__, below.__cause__ = below, error
    assert classify_error(error).failure_class == "unknown"
