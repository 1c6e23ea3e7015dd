"""A new job with its shots and all of its tasks (§1.4 `create_job`)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.errors import ValidationError
from mos.domain.messages import ID_PATTERN
from mos.domain.model import Job, JobStatus, Shot, Task, TaskStatus
from mos.domain.policy import MAX_TASKS_PER_JOB, Policy
from mos.domain.text import clean
from mos.domain.transitions import By

MAX_ID = 128
"""Characters of a task's id that a message carries."""
SHOT_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""No dot, so that `job.shot.step` reads one way only."""


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """What a producer asks for. `shots` maps shot ids to the input of the chain's first step."""

    job_id: str
    kind: str
    shots: Mapping[str, Mapping[str, Any]]
    correlation_id: str
    owner_id: str = ""
    workspace_id: str = ""
    calendar_entry_id: str | None = None
    review_id: str | None = None
    template_id: str | None = None


def digest(value: Mapping[str, Any]) -> str:
    """The content address of an input: equal inputs have equal digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def task_id(job_id: str, step: str, shot: str | None) -> str:
    """Readable and unique within the store: `job.shot.step`."""
    return ".".join(part for part in (job_id, shot, step) if part)


def decide_creation(request: JobRequest, *, now: datetime, policy: Policy) -> Commit:
    """One commit with the job, its shots and all its tasks; roots are `pending`, all others `waiting`.

    Raises:
        ValidationError: unknown kind, unsafe ids, no shots, inputs that cannot be stored, or more than 500 tasks.
    """
    kind = policy.pipeline.kinds.get(request.kind)
    if kind is None:
        known = ", ".join(policy.pipeline.kinds)
        raise ValidationError.of_field("kind", f"unknown kind {request.kind!r}; the pipeline has {known}")
    if kind.chain and not request.shots:
        raise ValidationError.of_field("shots", "at least one shot is needed")
    if request.shots and not kind.chain:
        raise ValidationError.of_field("shots", f"a job of kind {request.kind} has none")
    _check_names(request, kind.chain + kind.finish)
    _check_inputs(request.shots)
    total = len(request.shots) * len(kind.chain) + len(kind.finish)
    if total > MAX_TASKS_PER_JOB:
        raise ValidationError.of_field("shots", f"{total} tasks; a job has at most {MAX_TASKS_PER_JOB}")
    tasks = _tasks(request, kind.chain, kind.finish)
    job = Job(
        id=request.job_id,
        status=JobStatus.PENDING,
        kind=request.kind,
        owner_id=request.owner_id,
        workspace_id=request.workspace_id,
        calendar_entry_id=request.calendar_entry_id,
        review_id=request.review_id,
        template_id=request.template_id,
        shots={name: Shot() for name in request.shots},
        correlation_id=request.correlation_id,
        created_at=now,
        status_changed_at=now,
    )
    return Commit(
        by=By.PRODUCER,
        act="create_job",
        correlation_id=request.correlation_id,
        tasks=tuple(TaskChange(None, task, "created") for task in tasks),
        jobs=(JobChange(None, job, "created"),),
    )


def _check_names(request: JobRequest, steps: Sequence[str]) -> None:
    """Every id that follows from the request can be stored, sent and read back unambiguously."""
    if not re.fullmatch(ID_PATTERN, request.job_id):
        raise ValidationError.of_field("job_id", "letters, digits and ._~:@=+- only, at most 128")
    for shot in request.shots:
        if not SHOT_PATTERN.fullmatch(shot):
            raise ValidationError.of_field("shots", f"{clean(shot, 80)!r} is no shot id: letters, digits, _ and - only")
    longest = max((task_id(request.job_id, step, shot) for shot in (*request.shots, None) for step in steps), key=len)
    if len(longest) > MAX_ID:
        raise ValidationError.of_field("job_id", f"its task ids would be longer than {MAX_ID}: shorten job or shot ids")


def _check_inputs(shots: Mapping[str, Mapping[str, Any]]) -> None:
    for shot, given in shots.items():
        try:
            json.dumps(given, allow_nan=False, ensure_ascii=False).encode("utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            raise ValidationError.of_field(f"shots.{shot}", f"its input cannot be stored as JSON: {error}") from error


def _tasks(request: JobRequest, chain: Sequence[str], finish: Sequence[str]) -> list[Task]:
    tasks: list[Task] = []
    ends: list[Task] = []
    for shot, given in request.shots.items():
        before: list[Task] = []
        for index, step in enumerate(chain):
            after = chain[index + 1] if index + 1 < len(chain) else None
            following = task_id(request.job_id, after, shot) if after else _first(request, finish)
            before = [_task(request, step, shot, before, following, dict(given) if not index else {})]
            tasks += before
        ends += before
    for index, step in enumerate(finish):
        ends = [_task(request, step, None, ends, _first(request, finish[index + 1 :]), {"jobId": request.job_id})]
        tasks += ends
    return tasks


def _first(request: JobRequest, steps: Sequence[str]) -> str | None:
    return task_id(request.job_id, steps[0], None) if steps else None


def _task(
    request: JobRequest, step: str, shot: str | None, before: list[Task], following: str | None, given: dict[str, Any]
) -> Task:
    # The digest covers what comes in from upstream, so that equal digests mean equal results.
    upstream = sorted(task.input_digest for task in before)
    return Task(
        id=task_id(request.job_id, step, shot),
        job_id=request.job_id,
        shot_id=shot,
        step_type=step,
        status=TaskStatus.WAITING if before else TaskStatus.PENDING,
        depends_on=tuple(task.id for task in before),
        next=(following,) if following else (),
        input=given,
        input_digest=digest({"step": step, "input": given, "upstream": upstream}),
        correlation_id=request.correlation_id,
    )
