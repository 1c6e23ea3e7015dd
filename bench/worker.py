"""What one message costs a worker in API calls, beside a bare loop that only receives and deletes.

`python bench/worker.py` prints a table and writes bench/results/worker.json. The
worker is the product's own, on the stock clients, in one process: the counts are
exact and the same on every machine.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mos import logs
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.world import World

MESSAGES = 100
RESULTS = Path(__file__).parent / "results" / "worker.json"
STEP = """
[steps.{name}]
queue = "q-{name}"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true
"""
PIPELINE = STEP.format(name="first") + STEP.format(name="second") + '[kinds.chain]\nchain = ["first", "second"]\n'


def world() -> World:
    """A chain of two steps: the first has a successor to queue, the second ends the job."""
    return World(Policy(pipeline=parse_pipeline(PIPELINE)))


def fill(place: World, messages: int) -> None:
    """So many jobs of one shot, each with its first message sent."""
    for number in range(messages):
        place.submit(f"j{number}", "chain", {"s": {"n": number}})


def counted(place: World, act: Callable[[], object]) -> Counter[str]:
    """The calls that `act` makes, by service and name."""
    calls: Counter[str] = Counter()

    def io_(site: str, do: Callable[[], Any]) -> Any:
        if site not in {
            "sqs.get_queue_url",
            *(f"s3.{name}.answer" for name in ("GetObject", "PutObject", "HeadObject")),
        }:
            calls[site.removesuffix(".request")] += 1
        return do()

    place.io = io_
    act()
    place.io = lambda _, do: do()
    return calls


def bare(place: World, batch: int) -> None:
    """Receive and delete, nothing else: what a loop without any safety does."""
    while received := place.queues.receive("q-first", max_messages=batch, wait_seconds=0):
        place.queues.delete("q-first", [one.receipt_handle for one in received])


def worker(place: World, step: str, batch: int, scratch: Path) -> None:
    """The product's worker, until the queue is empty."""
    handlers = {"first": writes(b"first"), "second": writes(b"second")}
    actor = Actor(place, handlers, scratch, concurrency=2 * batch)
    while actor.poll(step):
        pass


def measure(batch: int, scratch: Path) -> dict[str, Any]:
    """One row: calls per message with `batch` messages in each receive."""
    with world().entered() as place:
        fill(place, MESSAGES)
        bare_calls = counted(place, lambda: bare(place, batch))
    with world().entered() as place:
        fill(place, MESSAGES)
        first = counted(place, lambda: worker(place, "first", batch, scratch))
        last = counted(place, lambda: worker(place, "second", batch, scratch))
    return {
        "messagesPerReceive": batch,
        "bare": per_message(bare_calls),
        "stepWithSuccessor": per_message(first),
        "lastStep": per_message(last),
        "sqsRatio": round(total(first, "sqs") / total(bare_calls, "sqs"), 2),
    }


def per_message(calls: Counter[str]) -> dict[str, float]:
    """Calls per message by name, and the sums by service."""
    rows = {name: round(count / MESSAGES, 2) for name, count in sorted(calls.items())}
    return rows | {
        f"{service}.all": round(total(calls, service) / MESSAGES, 2) for service in ("sqs", "firestore", "s3")
    }


def total(calls: Counter[str], service: str) -> int:
    """All calls to a service."""
    return sum(count for name, count in calls.items() if name.startswith(f"{service}."))


def renewal() -> dict[str, float]:
    """Calls per task and beat, with ten tasks under way."""
    with world().entered() as place, tempfile.TemporaryDirectory() as scratch:
        fill(place, 1)
        beats: list[Counter[str]] = []
        handler = writes(b"x", lambda _: beats.append(counted(place, actor.process.heartbeat.beat)))
        actor = Actor(place, {"first": handler, "second": handler}, Path(scratch))
        actor.poll("first")
    return {name: float(count) for name, count in beats[0].items()}


def show(rows: list[dict[str, Any]]) -> None:
    """The table."""
    table = Table("messages a receive", "", "SQS", "Firestore", "S3", title="API calls per message")
    for row in rows:
        for name in ("bare", "stepWithSuccessor", "lastStep"):
            sums = [f"{row[name][f'{service}.all']:.2f}" for service in ("sqs", "firestore", "s3")]
            table.add_row(str(row["messagesPerReceive"]), name, *sums)
    Console().print(table)


def main() -> None:
    """Measure, show and write."""
    logs.configure("bench", stream=io.StringIO())
    with tempfile.TemporaryDirectory() as scratch:
        rows = [measure(batch, Path(scratch)) for batch in (1, 10)]
    result = {"messages": MESSAGES, "rows": rows, "oneRenewalOfOneTask": renewal()}
    show(rows)
    for row in rows:
        print(f"{row['messagesPerReceive']:>2} a receive: {row['sqsRatio']} x the SQS calls of a bare loop")
    print(f"one renewal of one task: {result['oneRenewalOfOneTask']}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
