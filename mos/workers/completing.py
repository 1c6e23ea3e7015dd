"""The completion commit (§2.1 rule 6): task, shot, successors and job, fenced by the lease token."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mos.domain.changes import Commit
from mos.domain.completion import Completed, Fenced, decide_completion, fence
from mos.domain.errors import PipelineStateError
from mos.domain.model import Job, JobStatus, Task, TaskStatus
from mos.store.gateway import Gateway, Reader
from mos.store.queries import open_of_job
from mos.workers.claiming import dependants
from mos.workers.flight import Flight


@dataclass(frozen=True)
class Recorded:
    """The task is completed, by this call or by an earlier one whose answer was lost."""

    to_send: tuple[Task, ...]


def complete(gateway: Gateway, flight: Flight, output_key: str) -> Recorded | Fenced:
    """Commit the result.

    Raises:
        StateStoreError: nothing was written; the result is safe, so try again.
        UnknownOutcome: perhaps written; trying again finds out.
    """

    def body(reader: Reader) -> tuple[Commit | None, Recorded | Fenced]:
        task, job = reader.task_and_job(flight.task.id, flight.task.job_id)
        refused = fence(task, token=flight.lease.token, attempt=flight.task.attempt)
        if task is None or refused is not None:
            return None, _was_ours(reader, task, output_key, flight) or Fenced(refused or "the task is gone")
        if job is None:
            raise PipelineStateError(f"job {task.job_id} of task {task.id} does not exist", code="no_job")
        decided = _decide(reader, task, job, output_key)
        return decided.commit, Recorded(decided.queued)

    return gateway.transact(body).value


def _was_ours(reader: Reader, task: Task | None, output_key: str, flight: Flight) -> Recorded | None:
    """An earlier commit of this very result was applied, though its answer was lost."""
    if task is None or task.status is not TaskStatus.COMPLETED or task.attempt != flight.task.attempt:
        return None
    if task.output_key != output_key:
        return None
    return Recorded(tuple(found for found in dependants(reader, task) if found.unsent))


def _decide(reader: Reader, task: Task, job: Job, output_key: str) -> Completed:
    successors = dependants(reader, task)
    return decide_completion(
        task,
        job,
        output_key=output_key,
        successors=successors,
        dependencies=_dependencies(reader, task, successors) if job.status is JobStatus.PROCESSING else {},
        other_open_tasks=_others_open(reader, task, successors),
        now=reader.now,
    )


def _dependencies(reader: Reader, task: Task, successors: Iterable[Task]) -> dict[str, TaskStatus]:
    names = {name for successor in successors for name in successor.depends_on} - {task.id}
    return {found.id: found.status for found in reader.all(Task, sorted(names)) if found is not None}


def _others_open(reader: Reader, task: Task, successors: Iterable[Task]) -> bool:
    """Asked only where no successor keeps the job open anyway."""
    if any(not successor.terminal for successor in successors):
        return True
    return any(other.id != task.id for other in reader.query(open_of_job(task.job_id), Task))
