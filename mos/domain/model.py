"""The documents of the pipeline (specification §1.4) as frozen values.

Field names are camelCase in Firestore and snake_case here. Fields this version
does not know are preserved: the gateway writes only the fields that changed,
and nested maps keep what they came with. Documents of older writers lack
`attempt`, `lease`, `send` and `checkAt` and spell steps `image-edit`; they are
normalised on read.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mos.domain.errors import FailureClass


class TaskStatus(StrEnum):
    """`waiting`: dependencies are not satisfied. `dead`: the joint budget is used up (law 9)."""

    PENDING = "pending"
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    DEAD = "dead"
    CANCELLED = "cancelled"


class JobStatus(StrEnum):
    """The life of a job."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ShotStatus(StrEnum):
    """Written only when a shot settles: the job document must not be hot."""

    PENDING = "pending"
    PROCESSING = "processing"
    OUTPUT_READY = "output_ready"
    COMPLETED = "completed"
    FAILED = "failed"


class SendState(StrEnum):
    """The outbox of law 4."""

    UNSENT = "unsent"
    SENT = "sent"


class IncidentStatus(StrEnum):
    """The life of a production incident (§3.6)."""

    RETRY_PENDING = "retry_pending"
    RETRYING = "retrying"
    EXHAUSTED = "exhausted"
    OPERATOR_REQUIRED = "operator_required"
    RESOLVED = "resolved"


TERMINAL_TASKS = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.DEAD, TaskStatus.CANCELLED})
OPEN_TASKS = frozenset(TaskStatus) - TERMINAL_TASKS
TERMINAL_JOBS = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})


FIRST_YEAR, LAST_YEAR = 1970, 9000
"""Outside of these a stamp is a mistake, and sums of it with a duration could not be held."""


def _timestamp(value: Any) -> Any:
    """Texts, numbers and naive times are refused: nobody can say which unit or zone they meant."""
    if not isinstance(value, datetime):
        raise ValueError(f"a timestamp is needed, not {type(value).__name__}")  # noqa: TRY004 - pydantic wants it
    if value.tzinfo is None:
        raise ValueError("a time without a zone; write UTC timestamps")
    if not FIRST_YEAR <= value.year < LAST_YEAR:
        raise ValueError(f"a time between {FIRST_YEAR} and {LAST_YEAR} is needed, not one of the year {value.year}")
    return value


def _number(value: Any) -> Any:
    """A text or a truth value that looks like a number is not one."""
    if isinstance(value, bool | str):
        raise ValueError(f"a whole number is needed, not {type(value).__name__}")  # noqa: TRY004 - pydantic wants it
    return value


Instant = Annotated[datetime, BeforeValidator(_timestamp)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=0)]
Flag = Annotated[bool, Field(strict=True)]


def _without_nulls(value: Any) -> Any:
    """Older writers store null where a field has no value."""
    return {name: item for name, item in value.items() if item is not None} if isinstance(value, dict) else value


class Nested(BaseModel):
    """A map inside a document. What it does not know it carries along."""

    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True)

    _null_is_absent = model_validator(mode="before")(_without_nulls)


class Document(BaseModel):
    """A document with its id. Unknown fields stay in the store untouched."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    id: str = Field(exclude=True)

    _null_is_absent = model_validator(mode="before")(_without_nulls)

    def replace(self, **fields: Any) -> Self:
        """A copy with some fields set anew, validated."""
        return type(self).model_validate({**dict(self), **fields})

    def fields(self) -> dict[str, Any]:
        """The document as Firestore stores it; unset optional fields are absent."""
        return self.model_dump(by_alias=True, exclude_none=True)


class Lease(Nested):
    """The right to work on a task until `expires_at`. `owner` is a boot id, never a host name."""

    owner: str
    token: str
    renewed_at: Instant
    expires_at: Instant


class Send(Nested):
    """Whether the message of this attempt has been sent (the outbox of law 4)."""

    state: SendState = SendState.SENT
    at: Instant | None = None
    message_id: str | None = None


class ProviderCall(Nested):
    """A paid call (law 11)."""

    ordinal: Count = 0
    intent_at: Instant
    operation_id: str | None = None
    outcome: str | None = None
    maybe_paid: Flag = False


class RenderAttempt(Nested):
    """One submission to the render farm."""

    uid: str
    submitted_at: Instant
    outcome: str | None = None


class Render(Nested):
    """What is known of a render task's submission (§2.4)."""

    uid: str | None = None
    executor: str | None = None
    submitted_at: Instant | None = None
    poll_generation: Count = 0
    last_polled_at: Instant | None = None
    last_answer_at: Instant | None = None
    last_change_at: Instant | None = None
    missing_since: Instant | None = None
    unanswered_since: Instant | None = None
    attempts: list[RenderAttempt] = Field(default_factory=list)


class TaskError(Nested):
    """A failure with the attempt it belongs to: a newer attempt is never judged by it."""

    failure_class: FailureClass = Field(alias="class")
    code: str
    message: str
    at: Instant
    attempt: Count
    step: str | None = None
    task_id: str | None = None


def normal_step(value: Any) -> Any:
    """Older writers spell `image-edit`."""
    return value.replace("-", "_") if isinstance(value, str) else value


class Task(Document):
    """`tasks/{taskId}`."""

    job_id: str
    shot_id: str | None = None
    step_type: Annotated[str, BeforeValidator(normal_step)]
    status: TaskStatus
    depends_on: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    input: dict[str, Any] = Field(default_factory=dict)
    input_digest: str = ""
    output_key: str | None = None
    attempt: Count = 0
    send: Send = Send()
    not_before: Instant | None = None
    queued_at: Instant | None = None
    started_at: Instant | None = None
    last_progress_at: Instant | None = None
    lease: Lease | None = None
    check_by: str | None = None
    check_at: Instant | None = None
    provider_calls: dict[str, ProviderCall] = Field(default_factory=dict)
    completed_at: Instant | None = None
    reap_count: Count = 0
    failures: Count = 0
    executions: Count = 0
    error: TaskError | None = None
    resends: Count = 0
    op_token: str | None = None
    correlation_id: str = ""
    updated_at: Instant | None = None
    render: Render | None = None

    @property
    def terminal(self) -> bool:
        """Whether no worker will ever run it again without a repair."""
        return self.status in TERMINAL_TASKS

    @property
    def unsent(self) -> bool:
        """Queued in the state, not yet in the queue."""
        return self.status is TaskStatus.QUEUED and self.send.state is SendState.UNSENT

    @property
    def waits_since(self) -> datetime | None:
        """From when on a queued task could be picked up: an older writer's may say it in other fields only."""
        since = self.queued_at or self.send.at or self.updated_at or self.started_at
        return max(since, self.not_before or since) if since else None

    @property
    def render_submitted(self) -> bool:
        """A render that nexrender has: it needs polls and holds no lease."""
        return self.step_type == "render" and self.render is not None and self.render.uid is not None


class Shot(Nested):
    """One shot of a job."""

    status: ShotStatus = ShotStatus.PENDING
    output_key: str | None = None


class Incident(Nested):
    """`productionIncident` on a job and its calendar entry."""

    failure_class: FailureClass
    status: IncidentStatus
    attempt_count: Count = 0
    detected_at: Instant
    last_attempt_at: Instant | None = None
    reason: str = ""
    correlation_id: str = ""


class Retry(Nested):
    """Automatic retries spent on a job."""

    attempts: Count = 0
    last_attempt_at: Instant | None = None


class Job(Document):
    """`jobs/{jobId}`."""

    status: JobStatus
    kind: str
    owner_id: str = ""
    workspace_id: str = ""
    calendar_entry_id: str | None = None
    review_id: str | None = None
    template_id: str | None = None
    shots: dict[str, Shot] = Field(default_factory=dict)
    needs_ae_rerender: Flag = False
    error: TaskError | None = None
    error_count: Count = 0
    production_incident: Incident | None = None
    retry: Retry | None = None
    correlation_id: str = ""
    created_at: Instant | None = None
    updated_at: Instant | None = None
    status_changed_at: Instant | None = None
    check_by: str | None = None
    check_at: Instant | None = None
    op_token: str | None = None

    @property
    def settled(self) -> bool:
        """Every shot has ended well, and there is at least one."""
        good = {ShotStatus.OUTPUT_READY, ShotStatus.COMPLETED}
        return bool(self.shots) and all(shot.status in good for shot in self.shots.values())


class WorkerRecord(Document):
    """`workers/{workerId}`: liveness of one process."""

    started_at: Instant
    heartbeat_at: Instant
    in_flight: Count = 0
    version: str = ""
    ecs_task_arn: str | None = None
    stopped_at: Instant | None = None
    stop_reason: str | None = None
