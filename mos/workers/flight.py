"""A claimed task under way: its lease, its stop flag, and the gate that keeps the heartbeat off it.

Three parties touch a flight: the thread that runs it, the heartbeat, and the
drain. No lock is held over an I/O call: the heartbeat *enters* a flight before
a call and *leaves* it after; `quiesce` forbids entering and waits for the one
that is inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from mos.domain.errors import LeaseLost
from mos.domain.model import Task
from mos.runtime import Runtime
from mos.store.leases import HeldLease
from mos.workers.context import Interrupted
from mos.workers.delivery import Delivery


class Stop(StrEnum):
    """Why a handler is asked to stop."""

    DRAIN = "drain"
    """The process ends."""
    TOO_LONG = "ran_too_long"
    """Four times the step's time-to-live: counted as a failure."""
    HAND_OVER = "hand_over"
    """SQS's 12 hours of this receipt are nearly over."""
    LEASE_LOST = "lease_lost"
    """The task is not ours any more."""


class Flight:
    """One execution. `task` is the state as the claim left it."""

    def __init__(
        self, delivery: Delivery, task: Task, lease: HeldLease, *, correlation_id: str, runtime: Runtime
    ) -> None:
        self.delivery = delivery
        self.task = task
        self.lease = lease
        self.correlation_id = correlation_id
        self.started = lease.anchor.answered
        self.stop: Stop | None = None
        self.stopped_at: float | None = None
        self.reported_long = False
        self.progress_written = self.started
        self._runtime = runtime
        self._progressed = False
        self._lock = runtime.lock()
        self._idle = runtime.event()
        self._idle.set()
        self._closed = False

    def ask_to_stop(self, stop: Stop) -> None:
        """The next checkpoint raises. The first reason stands, but a lost lease overrides it."""
        if self.stop is None or stop is Stop.LEASE_LOST:
            self.stop = stop
            self.stopped_at = self._runtime.monotonic()

    def checkpoint(self) -> None:
        """Note progress, and stop if asked to.

        Raises:
            LeaseLost: the lease could not be renewed before it ran out, or somebody else took the task.
            Interrupted: the process drains, the step runs far too long, or the receipt is about to expire.
        """
        self._progressed = True
        if self.stop is None and self._runtime.monotonic() >= self.lease.deadline:
            self.ask_to_stop(Stop.LEASE_LOST)
        if self.stop is Stop.LEASE_LOST:
            raise LeaseLost(f"task {self.task.id} is not ours any more: stop, and commit nothing")
        if self.stop is not None:
            raise Interrupted(f"task {self.task.id} is asked to stop: {self.stop}")

    def take_progress(self, every: float) -> bool:
        """Whether `lastProgressAt` is due: a checkpoint since the last one, and at most once in `every` seconds."""
        due = self._progressed and self._runtime.monotonic() - self.progress_written >= every
        if due:
            self._progressed = False
            self.progress_written = self._runtime.monotonic()
        return due

    @property
    def holds_lease(self) -> bool:
        """Whether its windows are to be renewed."""
        return self.stop in {None, Stop.DRAIN, Stop.HAND_OVER} and self._runtime.monotonic() < self.lease.deadline

    def enter(self) -> bool:
        """The heartbeat is about to make a call for this flight. False: keep off."""
        with self._lock:
            if self._closed:
                return False
            self._idle.clear()
            return True

    def leave(self) -> None:
        """The heartbeat's call has returned."""
        self._idle.set()

    def quiesce(self) -> None:
        """From now on no renewal starts, and none is under way: a late one must not undo what follows (race 6)."""
        with self._lock:
            self._closed = True
        self._idle.wait()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """No renewal of this task while a commit is under way; renewals go on if it did not succeed."""
        self.quiesce()
        try:
            yield
        except BaseException:
            with self._lock:
                self._closed = False
            raise


class Flights:
    """What this process has under way."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._all: dict[str, Flight] = {}
        self._stop: Stop | None = None

    @contextmanager
    def holding(self, flight: Flight) -> Iterator[None]:
        """The flight is renewed for as long as this lasts."""
        with self._lock:
            self._all[flight.lease.token] = flight
            stop = self._stop
        if stop is not None:
            flight.ask_to_stop(stop)
        try:
            yield
        finally:
            flight.quiesce()
            with self._lock:
                del self._all[flight.lease.token]

    def ask_all_to_stop(self, stop: Stop) -> None:
        """Every flight, and every one that is still being claimed."""
        with self._lock:
            self._stop = stop
        for flight in self.all():
            flight.ask_to_stop(stop)

    def all(self) -> list[Flight]:
        """A snapshot."""
        with self._lock:
            return list(self._all.values())
