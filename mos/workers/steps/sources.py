"""Where a step's input comes from: the task before it, or the key that the producer gave."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from mos.domain.errors import FailureClass, ValidationError
from mos.workers.context import StepContext

SOURCE = "sourceKey"
"""Field of a first step's input: the S3 key of the customer's image."""


def fetch_source(context: StepContext) -> Path:
    """The step's one input as a local file.

    Raises:
        ValidationError: there is none, or not exactly one.
        StorageError: it could not be fetched.
    """
    keys: list[Any] = list(context.inputs.values()) or [context.input.get(SOURCE)]
    key = keys[0]
    if len(keys) != 1 or not isinstance(key, str) or not key:
        error = ValidationError.of_field(f"input.{SOURCE}", "the S3 key of one image is needed")
        error.details["failureClass"] = str(FailureClass.MEDIA_OR_TEMPLATE)
        raise error
    suffix = PurePosixPath(key).suffix
    return context.storage.download(key, context.scratch / f"source{suffix if suffix[1:].isalnum() else ''}")
