"""Many processes on few documents, through the stock client: what a server acknowledges must be true.

`python -m mos.local.firestore.contention HOST:PORT` runs it against any Firestore server and prints the figures.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions
from google.cloud import firestore

from mos.local.firestore.testing import client

PROCESSES = 8
EACH = 50
GIVE_UP_SECONDS = 120.0
PRELOAD = ["google.cloud.firestore", "mos.local.firestore.contention"]


@dataclass(frozen=True, slots=True)
class Increments:
    """What came of contended increments."""

    acknowledged: int
    final: int
    recorded: int
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Whether every acknowledged transaction is in the counter, and nothing else is."""
        return self.acknowledged == self.final == self.recorded


def definite(attempt: Callable[[], Any]) -> bool:
    """Run a transaction once; False where it was aborted and changed nothing.

    The stock client reports five aborted commits as a ValueError that has the last one as its cause.
    """
    try:
        attempt()
    except exceptions.Aborted:
        return False
    except ValueError as error:
        if isinstance(error.__cause__, exceptions.Aborted):
            return False
        raise
    return True


def increment(db: firestore.Client, token: str) -> None:
    """Read the counter, write it plus one, and leave a record of it in the same transaction."""

    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> None:
        counter = db.document("contention/counter")
        number = (counter.get(transaction=transaction).get("n") or 0) + 1
        transaction.update(counter, {"n": number})
        transaction.set(db.document(f"records/{token}"), {"n": number})

    bump(db.transaction())


def _incrementer(address: str, number: int, each: int, barrier: Any, acks: Any) -> None:
    with client(address, "contention") as db:
        barrier.wait()
        deadline = time.monotonic() + GIVE_UP_SECONDS
        done = 0
        while done < each and time.monotonic() < deadline:
            token = f"{number}-{done}"
            if definite(lambda: increment(db, token)):  # noqa: B023 - called at once
                done += 1
                acks.put(token)


def increments(address: str, *, processes: int = PROCESSES, each: int = EACH) -> Increments:
    """`processes` times `each` get-and-increment transactions on one document."""
    with client(address, "contention") as db:
        db.document("contention/counter").set({"n": 0})
        begun = time.monotonic()
        acknowledged = run(_incrementer, processes, address, each)
        seconds = time.monotonic() - begun
        final = db.document("contention/counter").get().get("n")
        records = {snapshot.id: snapshot.get("n") for snapshot in db.collection("records").stream()}
    recorded = len({records[token] for token in acknowledged if token in records})
    return Increments(len(acknowledged), final, recorded, seconds)


def _leaser(address: str, number: int, rounds: int, barrier: Any, acks: Any) -> None:
    with client(address, "contention") as db:
        for item in range(rounds):
            barrier.wait()
            if _took(db, item, number):
                acks.put(f"{item}")


class Taken(Exception):
    """Somebody else holds the lease."""


def _took(db: firestore.Client, item: int, owner: int) -> bool:
    try:
        return definite(lambda: _take(db, item, owner))
    except Taken:
        return False


def _take(db: firestore.Client, item: int, owner: int) -> None:
    @firestore.transactional
    def take(transaction: firestore.Transaction) -> None:
        lease = db.document(f"leases/{item}")
        if lease.get(transaction=transaction).exists:
            raise Taken
        transaction.set(lease, {"owner": owner})

    take(db.transaction())


def lease_winners(address: str, *, processes: int = PROCESSES, rounds: int = 5) -> list[int]:
    """How many processes won each of several leases on documents that did not exist."""
    won = run(_leaser, processes, address, rounds)
    return [won.count(str(item)) for item in range(rounds)]


def run(work: Callable[..., None], processes: int, address: str, amount: int) -> list[str]:
    """Run `work` in so many processes, started together; what they acknowledged."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    barrier = context.Barrier(processes)
    acks = context.SimpleQueue()
    team = [context.Process(target=work, args=(address, n, amount, barrier, acks)) for n in range(processes)]
    for member in team:
        member.start()
    got: list[str] = []
    while any(member.is_alive() for member in team) or not acks.empty():
        if acks.empty():
            team[0].join(0.01) if team[0].is_alive() else time.sleep(0.01)
        else:
            got.append(acks.get())
    for member in team:
        member.join()
        member.close()
    acks.close()
    return got


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of transactions whose clients were killed: `lost` acknowledged ones, `torn` half-applied ones."""

    acknowledged: int
    kills: int
    lost: list[str]
    torn: list[str]


def _mixer(address: str, number: int, each: int, acks: Any) -> None:
    """Transactions of three kinds; each leaves two records that only ever appear together."""
    with client(address, "contention") as db:
        for item in range(each):
            token = f"{os.getpid()}-{number}-{item}"
            while not definite(lambda: _pair(db, token, item)):  # noqa: B023 - called at once
                pass
            acks.put(token)


def _pair(db: firestore.Client, token: str, item: int) -> None:
    @firestore.transactional
    def pair(transaction: firestore.Transaction) -> None:
        shared = db.document(f"shared/{item % 3}")
        seen = (shared.get(transaction=transaction).to_dict() or {}).get("n", 0)
        if item % 3 == 0:
            list(db.collection("shared").limit(3).stream(transaction=transaction))
        transaction.set(shared, {"n": seen + 1})
        transaction.set(db.document(f"left/{token}"), {})
        transaction.set(db.document(f"right/{token}"), {})

    pair(db.transaction())


def killed_clients(address: str, *, processes: int, each: int, kills: int) -> Killed:
    """Mixed transactions by several processes, one of which is killed (and replaced) now and then."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    pipes: list[Any] = []

    def start(number: int) -> Any:
        reader, writer = context.Pipe(duplex=False)
        member = context.Process(target=_mixer, args=(address, number, each, _Sender(writer)))
        member.start()
        writer.close()
        pipes.append(reader)
        return member

    with client(address, "contention") as db:
        db.document("contention/counter").set({"n": 0})
    team = [start(number) for number in range(processes)]
    for victim in range(kills):
        member = team[victim % processes]
        pipes[-1].poll(1.0)
        if member.is_alive():
            member.kill()
        member.join()
        team[victim % processes] = start(victim % processes)
    for member in team:
        member.join()
    acknowledged = [token for pipe in pipes for token in _received(pipe)]
    with client(address, "contention") as db:
        left, right = ({s.id for s in db.collection(side).select([]).stream()} for side in ("left", "right"))
    return Killed(len(acknowledged), kills, sorted(set(acknowledged) - left), sorted(left ^ right))


class _Sender:
    """Acknowledgements over a pipe of the process's own: a kill breaks nobody else's."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def put(self, token: str) -> None:
        self._writer.send(token)


def _received(pipe: Any) -> list[str]:
    got = []
    try:
        while True:
            got.append(pipe.recv())
    except (EOFError, OSError):
        return got


def main(arguments: Sequence[str]) -> int:
    """Print what a server makes of it; 0 where everything acknowledged is true."""
    (address,) = arguments
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    counted = increments(address)
    winners = lease_winners(address)
    sys.stdout.write(
        f"increments: {counted.acknowledged} acknowledged, {counted.final} in the counter, "
        f"{counted.recorded} distinct records, {counted.seconds:.1f} s\n"
        f"lease winners per round: {winners}\n"
    )
    return os.EX_OK if counted.is_exact and set(winners) == {1} else os.EX_SOFTWARE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
