"""Values for tests: each builder gives a legal document, and the test says what is special about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

from mos.domain.errors import FailureClass
from mos.domain.model import Incident, Job, Lease, Send, Task, TaskError
from mos.domain.pipeline import Pipeline, parse_pipeline
from mos.domain.policy import Policy

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
"""In a night in which Europe's clocks change: nothing here may care."""


def ago(**delta: float) -> datetime:
    return NOW - timedelta(**delta)


def ahead(**delta: float) -> datetime:
    return NOW + timedelta(**delta)


@cache
def shipped() -> Pipeline:
    return parse_pipeline(resources.files("mos").joinpath("pipeline.toml").read_text("utf-8"))


@cache
def policy() -> Policy:
    return Policy(pipeline=shipped())


def lease(*, ends: datetime = NOW, owner: str = "boot-a", token: str = "token-a") -> Lease:  # noqa: S107 - no secret
    return Lease(owner=owner, token=token, renewed_at=ends - timedelta(seconds=285), expires_at=ends)


def task(status: str = "queued", **fields: Any) -> Task:
    given: dict[str, Any] = {"id": "j.s1.upscale", "job_id": "j", "shot_id": "s1", "step_type": "upscale"}
    given |= {"correlation_id": "c", "status": status}
    if status == "queued":
        given |= {"queued_at": NOW, "send": Send(state="sent", at=NOW)}
    if status == "running":
        given |= {"queued_at": ago(minutes=5), "started_at": ago(minutes=4), "lease": lease(ends=ahead(minutes=4))}
        given |= {"executions": 1}
    return Task(**(given | fields))


def job(status: str = "processing", **fields: Any) -> Job:
    return Job(**({"id": "j", "status": status, "kind": "base_clip_batch", "correlation_id": "c"} | fields))


def error(failure_class: str = "provider_timeout", **fields: Any) -> TaskError:
    given = {"failure_class": FailureClass(failure_class), "code": "524", "message": "late", "at": NOW, "attempt": 0}
    return TaskError(**(given | fields))


def incident(status: str, **fields: Any) -> Incident:
    given = {"failure_class": FailureClass.PROVIDER_TIMEOUT, "status": status, "detected_at": NOW}
    return Incident(**(given | fields))
