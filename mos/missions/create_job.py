"""Making a job with its shots and all its tasks, in one commit; a second call with the same request changes nothing."""

from __future__ import annotations

from mos.domain.changes import Commit
from mos.domain.errors import ConflictError
from mos.domain.jobs import JobRequest, decide_creation
from mos.domain.model import Job, Task
from mos.domain.policy import Policy
from mos.store.gateway import Committed, Gateway, Reader


def create_job(gateway: Gateway, policy: Policy, request: JobRequest) -> Committed[Job]:
    """The job. `changed` is False where it was there already.

    Raises:
        ValidationError: the request is malformed.
        ConflictError: another request made a job under this id.
    """

    def body(reader: Reader) -> tuple[Commit | None, Job]:
        existing = reader.job(request.job_id)
        commit = decide_creation(request, now=reader.now, policy=policy)
        wanted = commit.jobs[0].after
        if existing is None:
            return commit, wanted
        new = [change.after for change in commit.tasks]
        there = reader.all(Task, [task.id for task in new])
        same = all(
            task is not None and task.input_digest == other.input_digest for task, other in zip(there, new, strict=True)
        )
        if not same or _asked(existing) != _asked(wanted):
            raise ConflictError(f"job {request.job_id} exists with another content; choose another id")
        return None, existing

    return gateway.transact(body)


def _asked(job: Job) -> tuple[object, ...]:
    """What its producer asked for, but for the inputs, which the digests of its tasks tell."""
    ids = (job.owner_id, job.workspace_id, job.calendar_entry_id, job.review_id, job.template_id)
    return (job.kind, frozenset(job.shots), *ids)
