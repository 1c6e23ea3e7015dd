"""Doing the work of one execution: look for a recorded result, run the handler, store and check its output."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from google.cloud import firestore

from mos import logs
from mos.clients.s3 import Storage
from mos.domain.errors import AppError, PipelineStateError, StorageError
from mos.domain.model import Task
from mos.runtime import Runtime
from mos.store import results
from mos.workers.context import Handler, StepContext, StepOutput
from mos.workers.flight import Flight

SLICE = 0.25
"""Seconds between checkpoints while a demo's work is stretched."""
log = logs.logger(__name__)


@dataclass(frozen=True)
class Output:
    """A stored result. `recorded`: the pointer to it is there already."""

    key: str
    recorded: bool


@dataclass(frozen=True, kw_only=True)
class Work:
    """Runs handlers. `step_seconds` stretches each execution, so that a demo's faults can hit it."""

    client: firestore.Client
    storage: Storage
    handlers: Mapping[str, Handler]
    scratch: Path
    runtime: Runtime
    step_seconds: float = 0.0

    def run(self, flight: Flight) -> Output:
        """The result of one execution.

        Raises:
            LeaseLost, Interrupted: the handler was asked to stop.
            StateStoreError: the inputs could not be read; no work was done.
            AppError: the work failed, and so does whatever else the handler raised.
        """
        task = flight.task
        prepared = results.prepare(self.client, task)
        if prepared.recorded is not None and self.storage.exists(prepared.recorded):
            log.info("an equal input was processed before", output=prepared.recorded)
            return Output(prepared.recorded, recorded=True)
        with self._scratch(flight) as scratch:
            context = StepContext(
                task_id=task.id,
                step=task.step_type,
                attempt=task.attempt,
                input=task.input,
                inputs=prepared.inputs,
                scratch=scratch,
                storage=self.storage,
                log=log,
                checkpoint=flight.checkpoint,
            )
            self._linger(flight)
            return Output(self._keep(flight, self.handlers[task.step_type](context)), recorded=False)

    def record(self, task: Task, output: Output) -> str:
        """Make the durable pointer, before the completion commit. The key that stands.

        Raises:
            StateStoreError: perhaps not recorded; doing it again is harmless.
            StorageError: an earlier result could not be looked at.
        """
        if output.recorded or not task.input_digest:
            return output.key
        stands = results.record(self.client, task.input_digest, output.key, task.step_type)
        if stands == output.key or self.storage.exists(stands):
            return stands
        results.replace(self.client, task.input_digest, output.key, task.step_type)
        return output.key

    def _keep(self, flight: Flight, output: StepOutput) -> str:
        if not isinstance(output, StepOutput):
            raise AppError(f"the handler of {flight.task.step_type} must return a StepOutput", code="bad_output")
        if output.file is not None:
            key = result_key(flight, output.file.suffix)
            self.storage.upload(output.file, key)
        elif output.output_key is not None:
            key = output.output_key
        else:
            raise AppError(f"the handler of {flight.task.step_type} returned neither file nor key", code="bad_output")
        if not self.storage.exists(key):
            raise StorageError(f"the output {key} is missing or empty", code="empty_output")
        return key

    def _linger(self, flight: Flight) -> None:
        until = self.runtime.monotonic() + self.step_seconds
        while (left := until - self.runtime.monotonic()) > 0:
            self.runtime.sleep(min(SLICE, left))
            flight.checkpoint()

    @contextmanager
    def _scratch(self, flight: Flight) -> Iterator[Path]:
        """A directory of this execution alone: a zombie on the same host has another."""
        path = self.scratch / flight.task.id / str(flight.task.attempt) / flight.lease.token[:12]
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise StorageError(f"no scratch directory: {error}", code=f"errno_{error.errno}") from error
        try:
            yield path
        finally:
            _remove(path)


def result_key(flight: Flight, suffix: str) -> str:
    """Where a result of this execution goes: nobody else, an earlier attempt included, writes there."""
    task = flight.task
    if suffix and not suffix[1:].isalnum():
        raise PipelineStateError(f"the output of {task.step_type} has the suffix {suffix!r}", code="bad_output")
    return f"results/{task.job_id}/{task.id}/{task.attempt}/{flight.lease.token}{suffix}"


def _remove(path: Path) -> None:
    """The directory of an execution, and those above it once they are empty."""
    try:
        shutil.rmtree(path)
        for above in (path.parent, path.parent.parent):
            if any(above.iterdir()):
                return
            above.rmdir()
    except OSError as error:
        log.warning("a scratch directory was left behind", path=str(path), problem=str(error))
