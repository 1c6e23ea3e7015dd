"""What a step's handler is given and what it gives back (§2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mos.clients.s3 import Storage
from mos.domain.errors import ConflictError


class Interrupted(ConflictError):
    """The worker asks the handler to stop (drain, hand-over, too long): let it through, like `LeaseLost`."""

    default_code = "interrupted"


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """One execution of one step.

    `inputs` maps each dependency's task id to its output key, in the order of
    `dependsOn`. `scratch` is a directory of this execution alone, removed
    afterwards.
    """

    task_id: str
    step: str
    attempt: int
    input: Mapping[str, Any]
    inputs: Mapping[str, str]
    scratch: Path
    storage: Storage
    log: Any
    checkpoint: Callable[[], None]
    """Call it in long loops. Raises `LeaseLost` or `Interrupted`: stop at once and let it through."""


@dataclass(frozen=True, kw_only=True)
class StepOutput:
    """The result: a local `file` that the worker stores, or the `output_key` of an object that is there."""

    file: Path | None = None
    output_key: str | None = None


Handler = Callable[[StepContext], StepOutput]
