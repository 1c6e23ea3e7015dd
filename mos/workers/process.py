"""One worker process: thin loops over `Receiver.poll`, `Worker.handle` and `Heartbeat.beat`, and the drain (§2.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mos import logs
from mos.domain.errors import QueueError, StateStoreError
from mos.runtime import Event, Joinable, Runtime
from mos.store.workers import Liveness
from mos.workers.delivery import Delivery
from mos.workers.flight import Flight, Flights, Stop
from mos.workers.heartbeat import Heartbeat
from mos.workers.receiver import Receiver
from mos.workers.slots import Slots
from mos.workers.worker import Worker

JOIN_SECONDS = 5.0
"""How long a handler may take to stop once asked, before the process leaves without it."""
POLL_MARGIN = 2.0
"""Seconds beyond its own length that an open poll is waited for."""
LONGEST_BACKOFF = 30.0
EMPTY_PAUSE = 0.2
"""Seconds after an empty poll that did not wait: without it the loop would only burn calls."""
LOOK = 0.2
"""Seconds between two looks of the main thread."""
log = logs.logger(__name__)

Wait = Callable[[float], str | None]
"""Waits up to so many seconds; the name of a signal that arrived meanwhile."""


@dataclass(kw_only=True)
class WorkerProcess:
    """Runs until a signal, or until one of its loops ends."""

    worker: Worker
    receivers: list[Receiver]
    heartbeat: Heartbeat
    flights: Flights
    slots: Slots
    liveness: Liveness
    runtime: Runtime
    stopping: Event
    drain_seconds: float
    liveness_file: Path | None = None
    broken: str | None = field(default=None, init=False)
    """Why the process must end with 1."""

    def run(self, wait: Wait, ready: Callable[[], None]) -> int:
        """The exit code: 0 after a clean drain, 1 when a loop ended unexpectedly.

        Raises:
            StateStoreError: the process could not announce itself; nothing was started.
        """
        self.liveness.start()
        self._touch()
        ended = self.runtime.event()
        beating = self.runtime.spawn(lambda: self._guard("heartbeat", lambda: self._beat(ended)), name="heartbeat")
        polling = [self._spawn_receiver(receiver) for receiver in self.receivers]
        ready()
        reason: str | None = None
        while reason is None and self.broken is None:
            reason = wait(LOOK)
        clean = self._drain(wait, polling, reason or self.broken or "")
        ended.set()
        beating.join(JOIN_SECONDS)
        return 0 if clean and self.broken is None else 1

    def start_delivery(self, delivery: Delivery) -> None:
        """Handle a delivery in a thread of its own and give its place back."""

        def work() -> None:
            try:
                self.worker.handle(delivery)
            except Exception:
                log.exception("a delivery was left after an unexpected error")
            finally:
                self.slots.release()

        self.runtime.spawn(work, name=f"message-{delivery.received.message_id}")

    def stuck(self, flight: Flight) -> None:
        """A handler ignores that it should stop: drain the rest and end, so that the host gets a fresh process."""
        self.broken = self.broken or f"the handler of {flight.task.id} does not stop"

    def _spawn_receiver(self, receiver: Receiver) -> Joinable:
        name = f"receive-{receiver.step.name}"
        return self.runtime.spawn(lambda: self._guard(name, lambda: self._receive(receiver)), name=name)

    def _guard(self, name: str, loop: Callable[[], None]) -> None:
        """A loop that ends before it should ends the process: a worker that no longer receives is worse than none."""
        try:
            loop()
        except Exception as error:
            log.exception("a loop ended unexpectedly", loop=name)
            self.broken = f"the {name} loop ended unexpectedly: {error}"

    def _receive(self, receiver: Receiver) -> None:
        failures = 0
        while not self.stopping.is_set():
            try:
                started = receiver.poll()
                failures = 0
                if not started and not receiver.long_poll:
                    self.stopping.wait(EMPTY_PAUSE)
            except QueueError as error:
                failures += 1
                delay = min(LONGEST_BACKOFF, 2.0 ** min(failures, 10) / 2)
                log.warning("could not receive", problem=error.message, retrySeconds=delay)
                self.stopping.wait(delay)

    def _beat(self, ended: Event) -> None:
        while not ended.wait(self.heartbeat.every.total_seconds()):
            self.heartbeat.beat()
            self._say_alive()

    def _say_alive(self) -> None:
        self._touch()
        try:
            self.liveness.beat(len(self.flights.all()), self.worker.tally.counts())
        except StateStoreError as error:
            log.warning("could not say that this worker lives", problem=error.message)

    def _touch(self) -> None:
        if self.liveness_file is None:
            return
        try:
            self.liveness_file.parent.mkdir(parents=True, exist_ok=True)
            self.liveness_file.touch()
        except OSError as error:
            log.warning("the liveness file could not be touched", problem=str(error))

    def _drain(self, wait: Wait, polling: list[Joinable], reason: str) -> bool:
        """Stop receiving, let work finish, then give back what is left. Whether nothing is left in flight."""
        log.info("draining", reason=reason, inFlight=len(self.flights.all()))
        self.stopping.set()
        self.slots.close()
        began = self.runtime.monotonic()
        polled = began + max(receiver.long_poll for receiver in self.receivers) + POLL_MARGIN
        finish = began + self.drain_seconds

        def open_polls() -> bool:
            return any(thread.is_alive() for thread in polling)

        # A message that is released while one of our own polls is open would come straight back to us.
        self._await(wait, lambda: not open_polls() and not self.slots.busy, finish)
        self._await(wait, lambda: not open_polls(), polled)
        self.flights.ask_all_to_stop(Stop.DRAIN)
        self._await(wait, lambda: not self.slots.busy, self.runtime.monotonic() + JOIN_SECONDS)
        return self._say_stopped(reason)

    def _await(self, wait: Wait, done: Callable[[], bool], until: float) -> None:
        while not done() and self.runtime.monotonic() < until:
            if wait(LOOK / 2) is not None:
                raise SystemExit(1)

    def _say_stopped(self, reason: str) -> bool:
        left = self.flights.all()
        for flight in left:
            log.error("left in flight: its handler did not stop; its lease runs out", task=flight.task.id)
        try:
            self.liveness.stop(reason, len(left))
        except StateStoreError as error:
            log.warning("could not say that this worker stops", problem=error.message)
        return not left
