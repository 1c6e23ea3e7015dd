"""The task message on the wire (§2.1) and its validation.

`{"v": 1, "taskId", "jobId", "stepType", "attempt"}`, plus `pollGeneration` for
polls. Everything that is not exactly that is malformed: it is never deleted,
costs no work, and its error names the field.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from mos.domain.errors import ValidationError
from mos.domain.model import Task, normal_step
from mos.domain.text import clean

MAX_BODY_BYTES = 64 * 1024
"""A task message has under 1 KB; SQS would carry 1 MiB."""
ID_PATTERN = r"^[A-Za-z0-9._~:@=+-]{1,128}$"
"""Safe as a Firestore document id and as one path component, but for the reserved ones."""


def _not_reserved(value: str) -> str:
    """Firestore keeps `__x__` for itself; `.` and `..` are places in every file system."""
    if value in {".", ".."} or (value.startswith("__") and value.endswith("__")):
        raise ValueError("a reserved name")
    return value


DocumentId = Annotated[str, Field(pattern=ID_PATTERN), AfterValidator(_not_reserved)]


class TaskMessage(BaseModel):
    """One request to run one attempt of one task."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    v: Annotated[int, Field(ge=1, le=1)] = 1
    task_id: DocumentId
    job_id: DocumentId
    step_type: Annotated[str, BeforeValidator(normal_step), Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    attempt: int = Field(default=0, ge=0, le=2**31)
    poll_generation: int | None = Field(default=None, ge=0, le=2**31)

    @classmethod
    def for_task(cls, task: Task) -> TaskMessage:
        """The message in exactly the shape that a step's producer sends."""
        return cls(task_id=task.id, job_id=task.job_id, step_type=task.step_type, attempt=task.attempt)

    def body(self) -> str:
        """The text to send."""
        return json.dumps(self.model_dump(by_alias=True, exclude_none=True), separators=(",", ":"))


def parse_message(body: str, *, step: str | None = None) -> TaskMessage:
    """The message in a body; `step` is what this queue carries.

    Raises:
        ValidationError: malformed; `details["field"]` names the field (`body` for the whole).
    """
    raw = _object(body)
    try:
        message = TaskMessage.model_validate(raw, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise ValidationError.of_field(_named(str(first["loc"][0])), first["msg"]) from error
    if step is not None and message.step_type != step:
        raise ValidationError.of_field("stepType", f"this queue carries {step}, not {message.step_type}")
    return message


def _object(body: str) -> dict[str, Any]:
    if len(body.encode("utf-8", "surrogatepass")) > MAX_BODY_BYTES:
        raise ValidationError.of_field("body", f"longer than {MAX_BODY_BYTES} bytes")
    try:
        raw = json.loads(body, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except RecursionError as error:
        raise ValidationError.of_field("body", "nested too deeply") from error
    except ValueError as error:
        raise ValidationError.of_field("body", f"not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise ValidationError.of_field("body", f"a JSON object is needed, not {type(raw).__name__}")
    return raw


def _no_constant(name: str) -> NoReturn:
    raise ValidationError.of_field("body", f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise ValidationError.of_field(_named(key), "given twice")
        seen[key] = value
    return seen


def _named(field: str) -> str:
    """A field's name as a person may read it: a stranger chose it."""
    return clean(field, 80)
