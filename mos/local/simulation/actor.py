"""A worker of a `World`: the product's own parts, driven in one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mos.local.simulation.runtime import Timer
from mos.local.simulation.world import World
from mos.runtime import Runtime
from mos.settings import Settings
from mos.workers.build import Parts, build_process
from mos.workers.context import Handler, StepContext, StepOutput
from mos.workers.delivery import Delivery
from mos.workers.outcomes import Outcome


class Actor:
    """One worker process without its loops: `poll` receives from a queue once and handles what came.

    `runtime` is the world's, unless several actors run in threads of their own.
    """

    def __init__(
        self,
        world: World,
        handlers: Mapping[str, Handler],
        scratch: Path,
        *,
        runtime: Runtime | None = None,
        **settings: Any,
    ) -> None:
        self.world = world
        self.parts = Parts(
            settings=Settings(**{"scratch": scratch, "long_poll_seconds": 0, "concurrency": 10, **settings}),
            policy=world.policy,
            client=world.client,
            queues=world.queues,
            storage=world.storage,
            runtime=runtime or world.runtime,
            handlers=handlers,
            worker_id=(runtime or world.runtime).new_id(),
        )
        self.process = build_process(self.parts)
        self.outcomes: list[Outcome] = []
        for receiver in self.process.receivers:
            object.__setattr__(receiver, "start", self._start)

    def _start(self, delivery: Delivery) -> None:
        try:
            self.outcomes.append(self.process.worker.handle(delivery))
        finally:
            self.process.slots.release()

    def poll(self, step: str | None = None) -> list[Outcome]:
        """One pass over one queue, or over each: what became of the deliveries."""
        before = len(self.outcomes)
        for receiver in self.process.receivers:
            if step in {None, receiver.step.name}:
                receiver.poll()
        return self.outcomes[before:]

    def beating(self) -> Timer:
        """Let the heartbeat beat whenever time passes."""
        return self.world.runtime.every(self.process.heartbeat.every.total_seconds(), self.process.heartbeat.beat)

    def announce(self) -> None:
        """Write the worker's record."""
        self.process.liveness.start()


def writes(content: bytes, before: Callable[[StepContext], object] = lambda _: None) -> Handler:
    """A handler that does `before` and puts out `content`."""

    def handler(context: StepContext) -> StepOutput:
        before(context)
        path = context.scratch / "out.bin"
        path.write_bytes(content)
        return StepOutput(file=path)

    return handler
