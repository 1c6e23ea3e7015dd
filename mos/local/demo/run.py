"""The demo's course: start the stack, submit jobs, strike, watch, judge."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rich.console import Console

from mos.bootstrap import App
from mos.domain.model import TERMINAL_JOBS
from mos.local.demo.faults import Fault, MessageDeleted, MissionKilled, WorkerKilled, Zombie
from mos.local.demo.scene import Scene
from mos.local.demo.screen import Screen, summary
from mos.local.demo.verdict import FaultOutcome, Verdict, duplicated, lost
from mos.local.stack import DEMO_SCALE, StackOptions, build_supervisor
from mos.local.submission import submit_images
from mos.local.supervisor import StackError, Supervisor, running, signals_to
from mos.runtime import Runtime, SystemRuntime
from mos.settings import read_settings

LONGEST = 200.0
"""Seconds after which the demo stops watching and says what is missing."""
TICK = 0.5
SETTLED = 3.0
"""Seconds that the last recovery is watched for, so that a late zombie write would still be seen."""


@dataclass
class Strike:
    """One fault in the schedule: not before `at` seconds after the submission."""

    at: float
    fault: Fault
    struck_at: float | None = None
    recovered_at: float | None = None
    how: str = ""

    def outcome(self) -> FaultOutcome:
        seconds = None
        if self.struck_at is not None and self.recovered_at is not None:
            seconds = self.recovered_at - self.struck_at
        return FaultOutcome(self.fault.name, self.fault.subject, self.struck_at is not None, seconds, self.how)


def schedule() -> list[Strike]:
    """The faults in their order. The zombie waits for the killed worker to be back."""
    return [
        Strike(1.0, MessageDeleted()),
        Strike(4.0, WorkerKilled()),
        Strike(8.0, MissionKilled()),
        Strike(14.0, Zombie()),
    ]


def shipped_images() -> list[Path]:
    """The small images that come with the package."""
    folder = Path(str(resources.files("mos.local.demo") / "images"))
    return sorted(folder.glob("*.jpg"))


class Interrupted(Exception):
    """Ctrl-C: end in order, and say so."""


class _Attention:
    """Notes a signal instead of raising in the middle of a call: gRPC's locks do not survive that."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.starting = True
        self.interrupted = False

    def on_signal(self, _: int) -> None:
        self.interrupted = True
        if self.starting:
            self._supervisor.request_stop()

    def check(self) -> None:
        """Raise Interrupted between two steps if a signal came."""
        if self.interrupted:
            raise Interrupted


def run_demo(*, state_dir: Path, jobs: int, keep: bool, console: Console) -> bool:
    """Run the demo; whether everything ended as it should.

    Raises:
        Interrupted: by a signal; everything has ended.
        StackError: the stack did not come up.
    """
    runtime = SystemRuntime()
    fresh(state_dir)
    supervisor = build_supervisor(StackOptions(state_dir=state_dir, time_scale=DEMO_SCALE, step_seconds=1.0))
    attention = _Attention(supervisor)
    console.print("starting the local stack: state, queues, Prefect, two workers ...", highlight=False)
    with signals_to(attention.on_signal):
        try:
            supervisor.start()
            attention.starting = False
            attention.check()
            return _on_stack(supervisor, attention, runtime, jobs=jobs, keep=keep, console=console)
        except StackError:
            attention.check()
            raise
        finally:
            supervisor.stop()


def _on_stack(
    supervisor: Supervisor, attention: _Attention, runtime: Runtime, *, jobs: int, keep: bool, console: Console
) -> bool:
    addresses = supervisor.status().addresses
    os.environ.update(addresses)
    ui = addresses["PREFECT_API_URL"].removesuffix("/api")
    console.print(f"Prefect UI: {ui}", highlight=False)
    verdict = _play(App(read_settings(), runtime), supervisor, attention, jobs=jobs, console=console)
    summary(console, verdict)
    if keep:
        console.print(f"\nstill running (Ctrl-C ends it): {ui}", highlight=False)
        attention.starting = True  # from here on a signal ends the stack at once
        attention.check()
        supervisor.wait()
    return verdict.good


def fresh(state_dir: Path) -> None:
    """Forget the state of an earlier demo, but keep Prefect's database: its migrations take long."""
    if running(state_dir) is not None:
        return
    for name in ("firestore.sqlite", "firestore.sqlite-wal", "firestore.sqlite-shm"):
        (state_dir / name).unlink(missing_ok=True)
    shutil.rmtree(state_dir / "scratch", ignore_errors=True)


def _play(app: App, supervisor: Supervisor, attention: _Attention, *, jobs: int, console: Console) -> Verdict:
    runtime = app.runtime
    run_id = runtime.new_id()[:6]
    names = tuple(f"demo-{run_id}-{number}" for number in range(1, jobs + 1))
    scene = Scene(app, supervisor, names)
    for name in names:
        attention.check()
        submit_images(app, shipped_images(), kind="base_clip_batch", job_id=name)
    strikes = schedule()
    with Screen(console) as screen, _thawed(strikes):
        _watch(scene, strikes, screen, attention)
    found = scene.jobs()
    return Verdict(
        jobs=jobs,
        completed=sum(job.status == "completed" for job in found),
        lost=lost(found, scene.tasks()),
        duplicated=duplicated(scene.log()),
        faults=tuple(strike.outcome() for strike in strikes),
    )


@contextlib.contextmanager
def _thawed(strikes: list[Strike]) -> Iterator[None]:
    """Whatever happens, no process stays frozen."""
    try:
        yield
    finally:
        for strike in strikes:
            strike.fault.abandon()


def _watch(scene: Scene, strikes: list[Strike], screen: Screen, attention: _Attention) -> None:
    runtime = scene.app.runtime
    start = runtime.monotonic()
    quiet_since: float | None = None
    while (elapsed := runtime.monotonic() - start) < LONGEST:
        attention.check()
        for strike in strikes:
            _advance(strike, scene, screen, elapsed)
        found = scene.jobs()
        screen.show(found, scene.tasks(), [strike.outcome() for strike in strikes], elapsed)
        ended = all(job.status in TERMINAL_JOBS for job in found)
        if ended and all(strike.recovered_at is not None for strike in strikes):
            quiet_since = quiet_since if quiet_since is not None else elapsed
            if elapsed - quiet_since >= SETTLED:
                return
        runtime.sleep(TICK)


def _advance(strike: Strike, scene: Scene, screen: Screen, elapsed: float) -> None:
    if strike.struck_at is None:
        if elapsed >= strike.at and strike.fault.strike(scene):
            strike.struck_at = elapsed
            screen.say(f"{elapsed:4.0f} s  fault: {strike.fault.name} — {strike.fault.subject}")
    elif strike.recovered_at is None:
        how = strike.fault.poll(scene)
        if how is not None:
            strike.recovered_at, strike.how = elapsed, how
            screen.say(f"{elapsed:4.0f} s  recovered: {strike.fault.name} — {how}")
