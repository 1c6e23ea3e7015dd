"""What a worker reports beside the state: error events and findings. Each is contained; the caller goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from google.cloud import firestore

from mos import logs
from mos.domain.claims import Poison, Spent
from mos.domain.errors import AppError, FailureClass, ValidationError
from mos.domain.failing import Failure
from mos.domain.findings import FindingCode, Sighting
from mos.domain.messages import TaskMessage
from mos.domain.model import Task
from mos.store import findings
from mos.store.config import read_production
from mos.store.documents import UnreadableRecord
from mos.store.events import JobError, record_job_error
from mos.workers.delivery import Delivery
from mos.workers.flight import Flight

SEEN_BY = "worker"
log = logs.logger(__name__)


@contextmanager
def _contained() -> Iterator[None]:
    """A report that cannot be made is logged; the work it is about goes on."""
    try:
        yield
    except AppError as error:
        log.warning("a finding was not reported", problem=error.message)


@dataclass(frozen=True)
class Reports:
    """Error events of one process."""

    client: firestore.Client

    def malformed(self, delivery: Delivery, error: ValidationError, correlation_id: str) -> None:
        """The message's id is the site: each redelivery is the same event, and no job is touched."""
        self._message(delivery, "malformed", str(error.details.get("field", "body")), error.message, correlation_id)

    def poison(self, delivery: Delivery, poison: Poison, correlation_id: str) -> None:
        """A message that fits no state."""
        text = f"{poison.field}: {poison.reason}"
        self._message(delivery, "poison", poison.field, text, correlation_id)

    def unreadable(self, delivery: Delivery, error: UnreadableRecord, correlation_id: str) -> None:
        """A document that does not validate keeps its message waiting; it blocks nobody else."""
        self._message(delivery, error.code, error.path, error.message, correlation_id)
        sighting = Sighting(FindingCode.UNREADABLE_RECORD, error.path, {"problem": error.problem})
        with _contained():
            now = read_production(self.client).now
            findings.report(self.client, [sighting], seen_by=SEEN_BY, pass_id=delivery.received.message_id, now=now)

    def long_running(self, flight: Flight, ran: float, now: datetime) -> None:
        """A step runs past its time-to-live: it is alive, so nobody reaps it (law 6), but people should see it."""
        ttl = flight.delivery.step.running_ttl_seconds
        log.warning("runs past its time-to-live", task=flight.task.id, seconds=round(ran), ttlSeconds=ttl)
        evidence = {"step": flight.task.step_type, "ttlSeconds": ttl, "jobId": flight.task.job_id}
        sighting = Sighting(FindingCode.LONG_RUNNING, f"tasks/{flight.task.id}", evidence)
        with _contained():
            findings.report(self.client, [sighting], seen_by=SEEN_BY, pass_id=flight.lease.token, now=now)

    def long_over(self, flight: Flight, now: datetime) -> None:
        """That step has ended, one way or another."""
        sighting = Sighting(FindingCode.LONG_RUNNING, f"tasks/{flight.task.id}")
        with _contained():
            findings.close(self.client, [sighting.id], now=now)

    def _message(self, delivery: Delivery, code: str, field: str, text: str, correlation_id: str) -> None:
        received = delivery.received
        error = JobError(
            site=(received.message_id, code, field),
            failure_class=FailureClass.UNKNOWN,
            code=code,
            message=text,
            step=delivery.step.name,
            correlation_id=correlation_id,
            details={
                "field": field,
                "messageId": received.message_id,
                "queue": delivery.step.queue,
                "bodyCharacters": len(received.body),
            },
        )
        record_job_error(self.client, error)

    def failure(self, flight: Flight, failure: Failure) -> None:
        """One execution failed."""
        task = flight.task
        site = (task.id, str(task.attempt), str(task.executions), failure.code)
        self._task(task, site, failure, flight.correlation_id)

    def spent(self, task: Task, spent: Spent, correlation_id: str) -> None:
        """A joint budget was used up."""
        error = spent.error
        failure = Failure(error.failure_class, error.code, error.message)
        self._task(task, (task.id, str(task.attempt), error.code), failure, correlation_id)

    def internal(self, delivery: Delivery, message: TaskMessage, error: AppError, correlation_id: str) -> None:
        """Something of ours refused, such as a law: the message stays and a person should see why."""
        self._message(delivery, error.code, message.task_id, error.message, correlation_id)

    def _task(self, task: Task, site: tuple[str, ...], failure: Failure, correlation_id: str) -> None:
        error = JobError(
            site=site,
            failure_class=failure.failure_class,
            code=failure.code,
            message=failure.message,
            step=task.step_type,
            task_id=task.id,
            job_id=task.job_id,
            attempt=task.attempt,
            correlation_id=correlation_id,
        )
        record_job_error(self.client, error)
