"""Starts the parts in order, restarts what dies, ends everything."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from mos.local.supervisor import lock, record
from mos.local.supervisor.crew import Crew
from mos.local.supervisor.errors import StackError
from mos.local.supervisor.identity import identity_of
from mos.local.supervisor.layout import last_lines, lock_file, prepare, stack_file
from mos.local.supervisor.leftovers import end_leftovers
from mos.local.supervisor.machine import Phase
from mos.local.supervisor.part import Part, in_start_order
from mos.runtime import Joinable, Runtime, SystemRuntime

_BUSY_PAUSE, _CALM_PAUSE = 0.05, 0.25


class Supervisor:
    """One stack of parts in one state directory; a context manager that starts and stops it.

    Everything happens in one thread of its own, so `start` may be called from
    any thread; the kernel ends the parts when that thread ends, also by
    SIGKILL (Linux; elsewhere the next start in the same directory does).
    Raises StackError, whose text says what to do, from `start` and `wait`.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        state_dir: Path,
        *,
        addresses: Mapping[str, str] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._runtime = runtime or SystemRuntime()
        self._state_dir = state_dir
        self._addresses = dict(addresses or {})
        self._crew = Crew(in_start_order(parts), state_dir, self._runtime)
        self._stopping, self._settled = self._runtime.event(), self._runtime.event()
        self._thread: Joinable | None = None
        self._failure: BaseException | None = None
        self._written: record.StackRecord | None = None
        self._up = False
        self.leftovers = 0
        """Processes of an earlier, killed stack that `start` ended."""

    def start(self) -> record.StackRecord:
        """Start everything and wait until all parts are up; on any failure or Ctrl-C nothing is left running."""
        if self._thread is not None:
            raise StackError("this stack was started already; make another Supervisor")
        prepare(self._state_dir)
        self._thread = self._runtime.spawn(self._run, name="supervisor")
        try:
            self._settled.wait()
        except BaseException:
            self.stop()
            raise
        self._raise_failure()
        if not self._up:
            raise StackError("the stack was told to stop while it was starting; start it again")
        return self.status()

    def status(self) -> record.StackRecord:
        """What runs now."""
        return record.StackRecord(
            supervisor=os.getpid(),
            supervisor_identity=identity_of(os.getpid()),
            up=self._up,
            parts=self._crew.records(),
            addresses=self._addresses,
        )

    def request_stop(self) -> None:
        """Begin to end everything and return at once (for signal handlers)."""
        self._stopping.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Until the stack has ended (True) or `timeout` seconds are over; raises what broke the supervisor."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return False
        self._raise_failure()
        return True

    def stop(self) -> None:
        """End all parts and their children, dependants first, and wait for that."""
        self.request_stop()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with lock.exclusive(lock_file(self._state_dir)) as held:
                self.leftovers = end_leftovers(self._state_dir)
                self._supervise(held)
        except OSError as error:
            self._failure = StackError(f"the stack ended: {error}; make room or give access, and start it again")
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asks
            self._failure = error
        finally:
            self._settled.set()

    def _supervise(self, held: int) -> None:
        try:
            while not self._stopping.is_set():
                self._crew.tick()
                self._check(held)
                self._publish()
                self._stopping.wait(_CALM_PAUSE if self._crew.is_calm() else _BUSY_PAUSE)
        finally:
            self._crew.end()
            if lock.is_still(lock_file(self._state_dir), held):
                stack_file(self._state_dir).unlink(missing_ok=True)

    def _check(self, held: int) -> None:
        if not lock.is_still(lock_file(self._state_dir), held):
            raise StackError(
                f"{self._state_dir} was removed while its stack ran, so the stack was ended; start it again"
            )
        for part in self._crew.records():
            if part.phase is Phase.FAILED:
                raise StackError(f"{part.name} {part.reason}; the end of its log {part.log}:\n{last_lines(part.log)}")
        if not self._up and self._crew.is_up():
            self._up = True

    def _publish(self) -> None:
        now = self.status()
        if now != self._written:
            record.write(stack_file(self._state_dir), now)
            self._written = now
        if self._up:
            self._settled.set()
