"""The stock client on an engine in this process, and on a server in another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud.firestore import Client

from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ManualClock, ServerProcess, client, server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["optimistic", "pessimistic"])
def locking(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(clock: ManualClock) -> Engine:
    return Engine(clock=clock)


@pytest.fixture
def db(engine: Engine) -> Client:
    return connect(engine, "demo")


@pytest.fixture(scope="module")
def firestore_server() -> Iterator[ServerProcess]:
    with server() as running:
        yield running


@pytest.fixture
def remote(firestore_server: ServerProcess, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of the shared server, in a project of its own."""
    with client(firestore_server.address, project=f"p-{abs(hash(request.node.nodeid))}") as made:
        yield made
