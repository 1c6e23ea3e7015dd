"""`record_job_error`: the single place where a failure is recorded (§1.6).

The event's id follows from what happened, so a redelivery or a retry of the
write adds nothing. Event and job counter are one atomic write whose `create`
refuses the second time, which is why the increment can be trusted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos import logs
from mos.domain.errors import FailureClass
from mos.domain.text import clean

COLLECTION = "jobErrorEvents"
TIMEOUT = 5.0
"""Seconds for each call: recording a failure must not become one."""
log = logs.logger(__name__)


@dataclass(frozen=True, kw_only=True)
class JobError:
    """One failure. `site` says where and which occurrence: the same site is the same event."""

    site: tuple[str, ...]
    failure_class: FailureClass
    code: str
    message: str
    step: str = ""
    task_id: str = ""
    job_id: str = ""
    """Empty where no job is known or none may be touched (a malformed message)."""
    attempt: int = 0
    correlation_id: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The event's document id."""
        return hashlib.sha256("\x00".join(self.site).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def severity(self) -> str:
        """`critical` for classes that need a person, `warning` for those that may be retried."""
        lenient = self.failure_class.retryable or self.failure_class is FailureClass.UNKNOWN
        return "warning" if lenient else "critical"


def record_job_error(client: firestore.Client, error: JobError) -> bool:
    """Record a failure: event, job counter, log line. Whether it was new. Nothing here breaks the caller."""
    log.warning(
        "job error",
        failureClass=str(error.failure_class),
        code=error.code,
        problem=error.message,
        step=error.step,
        taskId=error.task_id,
        jobId=error.job_id,
        attempt=error.attempt,
        severity=error.severity,
    )
    try:
        return _write(client, error)
    except Exception as failure:  # noqa: BLE001 - §1.6: a failure inside is logged and never reaches the caller
        log.error("the job error could not be recorded", problem=str(failure), event_id=error.id)  # noqa: TRY400
        return False


def _write(client: firestore.Client, error: JobError) -> bool:
    event = client.collection(COLLECTION).document(error.id)
    batch = client.batch()
    batch.create(event, _fields(error))
    if error.job_id:
        job = client.collection("jobs").document(error.job_id)
        batch.update(job, {"errorCount": firestore.Increment(1)})
    try:
        batch.commit(timeout=TIMEOUT)
    except google.AlreadyExists:
        return False
    except google.NotFound:
        event.create(_fields(error), timeout=TIMEOUT)
    return True


def _fields(error: JobError) -> dict[str, Any]:
    return {
        "class": str(error.failure_class),
        "code": clean(error.code, 100),
        "message": clean(error.message),
        "severity": error.severity,
        "step": clean(error.step, 100),
        "taskId": clean(error.task_id, 200),
        "jobId": error.job_id,
        "attempt": error.attempt,
        "correlationId": clean(error.correlation_id, 200),
        "details": {name: clean(str(value), 500) for name, value in error.details.items()},
        "at": firestore.SERVER_TIMESTAMP,
    }
