"""Random interleavings are equivalent to running the committed transactions one after another, in commit order."""

from __future__ import annotations

import random

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ManualClock

PATHS = [f"c/{name}" for name in "abcd"]


class Actor:
    """One transaction after another: reads of documents and of a query, then writes that depend on all it read."""

    def __init__(self, number: int, db: firestore.Client, dice: random.Random) -> None:
        self.number = number
        self._db = db
        self._dice = dice
        self._begin()

    def _begin(self) -> None:
        self.transaction = self._db.transaction()
        self.transaction._begin()
        self.seen: dict[str, int | None] = {}
        self.asked: dict[int, list[str]] = {}
        self.writes: dict[str, int | None] = {}

    def step(self, log: list[Actor]) -> None:
        try:
            self._dice.choice([self._read, self._ask, self._write, lambda: self._commit(log)])()
        except exceptions.Aborted:
            self._begin()

    def _read(self) -> None:
        path = self._dice.choice(PATHS)
        snapshot = self._db.document(path).get(transaction=self.transaction)
        value = snapshot.get("n") if snapshot.exists else None
        assert self.seen.setdefault(path, value) == value, "two reads of one transaction differ"

    def _ask(self) -> None:
        least = self._dice.randrange(3)
        query = self._db.collection("c").where(filter=FieldFilter("n", ">=", least)).order_by("n").limit(2)
        self.asked[least] = [snapshot.id for snapshot in query.stream(transaction=self.transaction)]

    def _write(self) -> None:
        path = self._dice.choice(PATHS)
        self.writes[path] = None if self._dice.random() < 0.3 else self._dice.randrange(5)

    def _commit(self, log: list[Actor]) -> None:
        for path, value in self.writes.items():
            ref = self._db.document(path)
            self.transaction.delete(ref) if value is None else self.transaction.set(
                ref, {"n": value, "by": self.number}
            )
        done = Actor.__new__(Actor)
        done.__dict__.update(self.__dict__)
        self.transaction._commit()
        log.append(done)
        self._begin()


def answer(state: dict[str, int], least: int) -> list[str]:
    found = sorted((value, path.removeprefix("c/")) for path, value in state.items() if value >= least)
    return [name for _, name in found[:2]]


def replay(log: list[Actor]) -> dict[str, int]:
    """Run the committed transactions one by one; each must have read exactly what it would read there."""
    state: dict[str, int] = {}
    for at, actor in enumerate(log):
        assert {path: state.get(path) for path in actor.seen} == actor.seen, f"transaction {at} read something else"
        assert {least: answer(state, least) for least in actor.asked} == actor.asked, f"a query of {at} missed a change"
        for path, value in actor.writes.items():
            if value is None:
                state.pop(path, None)
            else:
                state[path] = value
    return state


@pytest.mark.parametrize("seed", range(12))
def test_the_commit_order_is_a_serial_order(locking: str, seed: int) -> None:
    dice = random.Random(f"{locking}-{seed}")
    engine = Engine(clock=ManualClock(), locking=locking, lock_timeout=0)
    db = connect(engine, "demo")
    actors = [Actor(number, db, dice) for number in range(4)]
    log: list[Actor] = []
    for _ in range(400):
        dice.choice(actors).step(log)
    stored = {snapshot.reference.path: snapshot.get("n") for snapshot in db.collection("c").stream()}
    assert replay(log) == stored
    assert sum(bool(actor.seen or actor.asked) and bool(actor.writes) for actor in log) > 3, (
        "too little was committed to tell"
    )
