"""Cancelling a job by hand: its queued tasks wait again, dispatch cancels what is open (§1.5)."""

from __future__ import annotations

from mos.domain.changes import Commit, JobChange
from mos.domain.ending import back_to_pending
from mos.domain.errors import PipelineStateError, ValidationError
from mos.domain.model import IncidentStatus, Job, JobStatus, Task
from mos.domain.transitions import By
from mos.store.gateway import Committed, Gateway, Reader
from mos.store.queries import queued_of_job


def cancel_job(gateway: Gateway, job_id: str, *, why: str) -> Committed[Job]:
    """The cancelled job. `changed` is False where it was cancelled already.

    Raises:
        ValidationError: there is no such job.
        PipelineStateError: it is completed.
    """

    def body(reader: Reader) -> tuple[Commit | None, Job]:
        job = reader.job(job_id)
        if job is None:
            raise ValidationError.of_field("job", f"there is no job {job_id}")
        if job.status is JobStatus.CANCELLED:
            return None, job
        if job.status is JobStatus.COMPLETED:
            raise PipelineStateError(f"job {job_id} is completed; there is nothing to cancel")
        # One that cannot be read keeps nobody from cancelling: dispatch reports it.
        queued = reader.query(queued_of_job(job_id), Task, unreadable=[])
        tasks = tuple(back_to_pending(task, why) for task in queued)
        after = _cancelled(job, reader)
        change = JobChange(job, after, why)
        return Commit(
            by=By.OPERATOR, act="cancel_job", correlation_id=job.correlation_id, tasks=tasks, jobs=(change,)
        ), after

    return gateway.transact(body)


def _cancelled(job: Job, reader: Reader) -> Job:
    incident = job.production_incident
    if incident is not None:
        incident = incident.model_copy(update={"status": IncidentStatus.RESOLVED})
    return job.replace(status=JobStatus.CANCELLED, status_changed_at=reader.now, production_incident=incident)
