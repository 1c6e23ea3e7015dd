"""The gateway and the stock client on an engine in this process, under a virtual clock, with faults by script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud.firestore import Client

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.invariants import Evidence, check
from mos.domain.model import Job, Task
from mos.domain.recovery_log import LogEntry
from mos.domain.transitions import By
from mos.local.firestore import composites
from mos.local.firestore.injected import grpc_error
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.virtual import virtual_time
from mos.local.simulation.runtime import VirtualRuntime
from mos.store.documents import COLLECTION, encode, path_of, read
from mos.store.gateway import Committed, Gateway
from tests.builders import policy

Do = Callable[[], Any]
INDEXES = Path(__file__).parents[3] / "firestore.indexes.json"


class Script:
    """Faults in order, by the name of the call: each is taken by the next call of that name."""

    def __init__(self) -> None:
        self.faults: dict[str, list[Callable[[Do], Any]]] = {}
        self.calls: list[str] = []

    def __call__(self, name: str, request: Any, do: Do, timeout: float | None) -> Any:
        self.calls.append(name)
        waiting = self.faults.get(name)
        return waiting.pop(0)(do) if waiting else do()

    def on(self, name: str, *faults: Callable[[Do], Any]) -> None:
        """What the next calls of that name meet."""
        self.faults.setdefault(name, []).extend(faults)

    @property
    def spent(self) -> bool:
        """Whether every fault was met."""
        return not any(self.faults.values())


def refused(code: str) -> Callable[[Do], Any]:
    """Not applied."""

    def fault(do: Do) -> Any:
        raise grpc_error(code)

    return fault


def unanswered(code: str) -> Callable[[Do], Any]:
    """Applied, and the answer lost."""

    def fault(do: Do) -> Any:
        do()
        raise grpc_error(code)

    return fault


def passed(do: Do) -> Any:
    """No fault."""
    return do()


class Store:
    """One engine with two clients: ours meets the script, the other's calls always work."""

    def __init__(self, runtime: VirtualRuntime, locking: str | None = None, policy_: Any = None) -> None:
        self.runtime = runtime
        self.script = Script()
        self.engine = Engine(
            clock=runtime.server_time, locking=locking, lock_timeout=0, indexes=composites.load(INDEXES)
        )
        self.client: Client = connect(self.engine, "demo", hook=self.script)
        self.other: Client = connect(self.engine, "demo")
        self.gateway = Gateway(self.client, policy_ or policy(), runtime, actor="test")

    def put(self, *documents: Task | Job, **raw: Any) -> None:
        """Documents as if they had always been there; `raw` are fields that we do not know."""
        batch = self.other.batch()
        for document in documents:
            batch.set(self.other.document(path_of(document)), encode(document.fields()) | raw)
        batch.commit()

    def raw(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.other.document(path).get().to_dict() or {}
        return found

    def change(self, kind: type[Task | Job], name: str, by: By, **fields: Any) -> Committed[str]:
        """A whole transaction that sets some fields of one document."""

        def body(reader: Any) -> tuple[Commit, str]:
            (before,) = reader.all(kind, [name])
            after = before.replace(**fields)
            if isinstance(after, Job):
                return Commit(by, "test", "c", jobs=(JobChange(before, after, "test"),)), "done"
            return Commit(by, "test", "c", tasks=(TaskChange(before, after, "test"),)), "done"

        return self.gateway.transact(body)

    def log(self) -> list[dict[str, Any]]:
        """The recovery log, in the order of its commits."""
        found = list(self.other.collection("recoveryLog").stream())
        return [snapshot.to_dict() or {} for snapshot in sorted(found, key=lambda one: one.create_time)]

    def evidence(self, **fields: Any) -> Evidence:
        """Log and documents as they are, for the invariants."""
        snapshots = list(self.other.collection("recoveryLog").stream())
        entries = [
            LogEntry.model_validate({**(one.to_dict() or {}), "id": one.id, "committedAt": one.create_time})
            for one in snapshots
        ]
        return Evidence(policy=policy(), entries=entries, tasks=self._all(Task), jobs=self._all(Job), **fields)

    def _all(self, kind: type[Any]) -> dict[str, Any]:
        snapshots = self.other.collection(COLLECTION[kind]).stream()
        return {snapshot.id: read(kind, snapshot) for snapshot in snapshots}

    def violations(self) -> set[str]:
        """The invariants that do not hold."""
        return {violation.invariant for violation in check(self.evidence())}


@pytest.fixture
def runtime() -> Iterator[VirtualRuntime]:
    clock = VirtualRuntime(7)
    with virtual_time(clock.sleep, clock.monotonic):
        yield clock


@pytest.fixture
def store(runtime: VirtualRuntime) -> Store:
    return Store(runtime)


@pytest.fixture
def make_store(runtime: VirtualRuntime) -> Callable[..., Store]:
    return lambda **fields: Store(runtime, **fields)
