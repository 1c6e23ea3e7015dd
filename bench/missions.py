"""What a healthy tick of reaper and dispatch costs with 0, 1,000 and 100,000 tasks in flight: billed reads, and time.

`python bench/missions.py [--quick]` prints a table and writes bench/results/missions.json. The stock client on the
embedded engine in this process, with the index check on; the reads are those of the engine's own meter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from google.cloud import firestore
from rich.console import Console
from rich.table import Table

from mos.clients.notifier import Notifier
from mos.clients.sqs import Queues
from mos.domain.model import Job, JobStatus, Lease, Send, Task, TaskStatus
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.aws.queues import QueueSpec, ensure_queues
from mos.local.aws.sqs_model import SqsModel
from mos.local.firestore import composites
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.virtual import virtual_time
from mos.local.simulation.runtime import VirtualRuntime
from mos.missions import base
from mos.missions.dispatch import Dispatch
from mos.missions.reaper import Reaper
from mos.store.documents import encode, path_of
from mos.store.gateway import Gateway

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "missions.json"
SIZES = (0, 1_000, 100_000)
BATCH = 500
TICKS = 20
TASKS_OF_A_JOB = 500
MOST_READS = 12
STEPS = ("image_edit", "frame_expand", "video_generate", "shot_reorder", "upscale")


@dataclass
class Tick:
    """One mission at one size."""

    mission: str
    live_tasks: int
    reads: int
    writes: int
    milliseconds: float
    ratio: float = 1.0


class Fleet:
    """A healthy fleet: half of the tasks run under live leases, half wait with fresh messages."""

    def __init__(self) -> None:
        self.runtime = VirtualRuntime()
        self.policy = Policy(
            pipeline=parse_pipeline(resources.files("mos").joinpath("pipeline.toml").read_text("utf-8"))
        )
        indexes = composites.load(ROOT / "firestore.indexes.json")
        self.engine = Engine(clock=self.runtime.server_time, indexes=indexes)
        self.client = connect(self.engine, caller="mission")
        model = SqsModel(now=lambda: self.runtime.server_time().timestamp(), event=self.runtime.event)
        ensure_queues(model.client(), [self._queue(step) for step in self.policy.pipeline.steps.values()])
        self.queues = Queues(model.client())
        self.live = 0

    def _queue(self, step: Any) -> QueueSpec:
        return QueueSpec(
            name=step.queue, visibility_timeout=step.visibility_seconds, max_receive_count=step.max_receives
        )

    def grow(self, live: int) -> None:
        """Up to so many tasks in flight."""
        filler = connect(self.engine, caller="filler")
        documents = list(range(self.live, live))
        for start in range(0, len(documents), BATCH):
            self._write(filler, documents[start : start + BATCH])
        self.live = live

    def _write(self, client: firestore.Client, numbers: list[int]) -> None:
        batch = client.batch()
        now = self.runtime.server_time()
        for one in documents(numbers, now):
            batch.set(client.document(path_of(one)), encode(one.fields()))
        batch.commit()

    def missions(self) -> Iterator[tuple[str, Callable[[], base.Mission]]]:
        """Each mission as production joins it."""
        shared = {"client": self.client, "queues": self.queues, "policy": self.policy, "runtime": self.runtime}

        def gateway(actor: str) -> Gateway:
            return Gateway(self.client, self.policy, self.runtime, actor=actor)

        yield (
            "reaper",
            lambda: Reaper(
                **shared, gateway=gateway("reaper"), notifier=Notifier(), run_id=self.runtime.new_id(), width=1
            ),
        )
        yield "dispatch", lambda: Dispatch(**shared, gateway=gateway("dispatch"), run_id=self.runtime.new_id())

    def measure(self, name: str, make: Callable[[], base.Mission]) -> Tick:
        """The median of some ticks, after some that warm up."""
        for _ in range(TICKS):
            base.run(make())
        times = []
        for _ in range(TICKS):
            self.engine.meter.reset()
            begun = time.perf_counter()
            report = base.run(make())
            times.append(time.perf_counter() - begun)
            assert not report.results, report.summary
            assert not report.failed_passes, report.summary
        used = self.engine.meter.of("mission")
        return Tick(name, self.live, used.reads, used.writes, statistics.median(times) * 1000)


def documents(numbers: list[int], now: datetime) -> Iterator[Task | Job]:
    """Tasks of processing jobs, and each job with its first task."""
    later = now + timedelta(minutes=4)
    lease = Lease(owner="boot", token="token", renewed_at=now, expires_at=later)  # noqa: S106 - no secret
    for number in numbers:
        job_id = f"j{number // TASKS_OF_A_JOB:05}"
        shared = {"job_id": job_id, "step_type": STEPS[number % len(STEPS)], "check_by": "reaper"}
        if number % 2:
            more = {"status": TaskStatus.RUNNING, "lease": lease, "started_at": now, "check_at": later}
        else:
            more = {"status": TaskStatus.QUEUED, "send": Send(at=now), "check_at": now + timedelta(minutes=30)}
        yield Task(id=f"{job_id}.{number:06}", queued_at=now, **shared, **more)
        if number % TASKS_OF_A_JOB == 0:
            yield Job(
                id=job_id,
                status=JobStatus.PROCESSING,
                kind="base_clip_batch",
                check_by="stalled-jobs",
                check_at=now + timedelta(hours=3),
            )


def main() -> None:
    """Measure, print, write; exit 1 when the reads are not constant or too many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 5,000 tasks")
    sizes = [min(size, 5_000) for size in SIZES] if parser.parse_args().quick else SIZES
    fleet = Fleet()
    ticks: list[Tick] = []
    with virtual_time(fleet.runtime.sleep, fleet.runtime.monotonic):
        for size in sizes:
            print(f"filling up to {size:,} tasks ...", flush=True)
            fleet.grow(size)
            ticks += [fleet.measure(name, make) for name, make in fleet.missions()]
    for tick in ticks:
        first = next(one for one in ticks if one.mission == tick.mission)
        tick.ratio = tick.milliseconds / first.milliseconds
    show(ticks)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"healthy_ticks": [asdict(tick) for tick in ticks]}, indent=2) + "\n")
    for mission in ("reaper", "dispatch"):
        reads = {tick.reads for tick in ticks if tick.mission == mission}
        if len(reads) != 1 or max(reads) > MOST_READS:
            raise SystemExit(
                f"{mission}: the reads of a healthy tick are not constant and at most {MOST_READS}: {reads}"
            )


def show(ticks: list[Tick]) -> None:
    """Print the table."""
    table = Table(title="a healthy tick")
    for column in ("mission", "live tasks", "billed reads", "writes", "ms", "time to that at 0"):
        table.add_column(column, justify="left" if column == "mission" else "right")
    for tick in ticks:
        numbers = (f"{tick.live_tasks:,}", str(tick.reads), str(tick.writes), f"{tick.milliseconds:.1f}")
        table.add_row(tick.mission, *numbers, f"{tick.ratio:.2f} ×")
    Console().print(table)


if __name__ == "__main__":
    main()
