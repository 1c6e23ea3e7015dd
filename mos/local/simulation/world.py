"""Everything a worker touches, in this process: the stock clients on the engine, the queue model, and S3 by moto.

One hook sees every call to all three services, which is where tests count
calls, let them fail and crash before or after them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self

import boto3
from botocore.config import Config
from moto import mock_aws

from mos.clients.s3 import Storage
from mos.clients.sqs import Queues
from mos.domain.messages import TaskMessage
from mos.domain.model import Job, Send, SendState, Task
from mos.domain.policy import Policy
from mos.local.aws.queues import QueueSpec, ensure_queues
from mos.local.aws.sqs_model import Faults, SqsModel
from mos.local.firestore.engine import Engine
from mos.local.firestore.inprocess import connect
from mos.local.firestore.virtual import virtual_time
from mos.local.simulation.jobs import start_job
from mos.local.simulation.runtime import VirtualRuntime
from mos.store.documents import read
from mos.store.gateway import Gateway

BUCKET = "media"
CALLER = "world"
Io = Callable[[str, Callable[[], Any]], Any]
"""`io(site, do)` performs a call by `do()`; it may raise before or after it."""


@functools.cache
def _s3_client(_: str) -> Any:
    """One client per purpose and process: making one takes a fifth of a second."""
    return boto3.session.Session().client(
        "s3",
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - moto asks for one
        config=Config(retries={"total_max_attempts": 1}),
    )


def plain(_: str, do: Callable[[], Any]) -> Any:
    """Every call just happens."""
    return do()


class World:
    """The services of one scenario. `io` sees the calls of the actors, not those of the world's own looks."""

    def __init__(
        self, policy: Policy, *, seed: int = 0, locking: str | None = None, faults: Faults | None = None
    ) -> None:
        self.policy = policy
        self.runtime = VirtualRuntime(seed)
        self.io: Io = plain
        self.faults = faults or Faults()
        self.engine = Engine(clock=self.runtime.server_time, locking=locking)
        self.look = connect(self.engine, caller=CALLER, pause=self.runtime.sleep)
        self.client = connect(self.engine, hook=self._firestore, caller="actor", pause=self.runtime.sleep)
        self.sqs = SqsModel(
            now=lambda: self.runtime.server_time().timestamp(),
            event=self.runtime.event,
            faults=self.faults,
            around=lambda call, do: self.io(f"sqs.{call.method}", do),
        )
        self.queues = Queues(self.sqs.client())
        self.gateway = Gateway(self.look, policy, self.runtime, actor=CALLER)

    def _firestore(self, name: str, request: Any, do: Callable[[], Any], timeout: float | None) -> Any:  # noqa: ARG002 - the hook's signature
        return self.io(f"firestore.{name}", do)

    @contextmanager
    def entered(self) -> Iterator[Self]:
        """While it lasts, S3 is moto's and the stock clients' retries follow the virtual clock."""
        with mock_aws(), virtual_time(self.runtime.sleep, self.runtime.monotonic), self._objects():
            ensure_queues(self.sqs.client(), self._queue_specs())
            yield self

    @contextmanager
    def _objects(self) -> Iterator[None]:
        look, acting = _s3_client("look"), _s3_client("acting")
        look.create_bucket(Bucket=BUCKET)
        self.objects, self.storage = Storage(look, BUCKET), Storage(acting, BUCKET)
        acting.meta.events.register("before-call.s3", self._s3_before)
        acting.meta.events.register("after-call.s3", self._s3_after)
        try:
            yield
        finally:
            acting.meta.events.unregister("before-call.s3", self._s3_before)
            acting.meta.events.unregister("after-call.s3", self._s3_after)

    def _s3_before(self, model: Any, **_: Any) -> None:
        self.io(f"s3.{model.name}.request", lambda: None)

    def _s3_after(self, model: Any, **_: Any) -> None:
        self.io(f"s3.{model.name}.answer", lambda: None)

    def _queue_specs(self) -> list[QueueSpec]:
        steps = self.policy.pipeline.steps.values()
        return [
            QueueSpec(name=step.queue, visibility_timeout=step.visibility_seconds, max_receive_count=step.max_receives)
            for step in steps
        ]

    def submit(self, job_id: str, kind: str, shots: Mapping[str, Mapping[str, Any]]) -> None:
        """A job with all its tasks, started: its roots are queued and sent."""
        self.send(start_job(self.gateway, self.policy, job_id, kind, shots))

    def send(self, tasks: Iterable[Task]) -> None:
        """The message of each task, marked as sent: what the outbox's owner does."""
        look = Queues(self.sqs.client())
        for task in tasks:
            queue = self.policy.step(task).queue
            body = TaskMessage.for_task(task).body()
            message_id = look.send(queue, body, attributes={"correlationId": task.correlation_id})
            now = self.runtime.server_time()
            sent = Send(state=SendState.SENT, at=now, message_id=message_id)
            self.patch(task.id, send=sent.model_dump(by_alias=True, mode="python") | {"state": "sent"})

    def send_unsent(self) -> int:
        """What the outbox's mission does after its grace: send what a crash left unsent. How many."""
        unsent = [task for task in self.tasks() if task.unsent]
        self.send(unsent)
        return len(unsent)

    def patch(self, task_id: str, **fields: Any) -> None:
        """Set fields of a task from outside, as an older writer or a person would."""
        self.look.collection("tasks").document(task_id).update(fields)

    def task(self, task_id: str) -> Task:
        """A task as it is now."""
        found = read(Task, self.look.collection("tasks").document(task_id).get())
        if found is None:
            raise LookupError(task_id)
        return found

    def tasks(self) -> list[Task]:
        """All tasks."""
        found = [read(Task, snapshot) for snapshot in self.look.collection("tasks").stream()]
        return sorted((task for task in found if task is not None), key=lambda task: task.id)

    def job(self, job_id: str) -> Job:
        """A job as it is now."""
        found = read(Job, self.look.collection("jobs").document(job_id).get())
        if found is None:
            raise LookupError(job_id)
        return found

    def documents(self, collection: str) -> list[dict[str, Any]]:
        """All documents of a collection."""
        return [
            {**(snapshot.to_dict() or {}), "id": snapshot.id} for snapshot in self.look.collection(collection).stream()
        ]

    def snapshot(self) -> dict[str, Any]:
        """The whole database but for error events: to see that nothing was written."""
        names = [collection.id for collection in self.look.collections()]
        return {name: self.documents(name) for name in names if name != "jobErrorEvents"}

    @property
    def now(self) -> datetime:
        """The services' time."""
        return self.runtime.server_time()
