"""A server process to test against, and stock clients for it."""

from __future__ import annotations

import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore import Client
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.grpc import FirestoreGrpcTransport

from mos.local.firestore.inprocess import CALLER_HEADER

READY = "firestore ready on "
START_SECONDS = 30.0
STOP_SECONDS = 10.0
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class ManualClock:
    """A clock for an engine that moves when told to."""

    def __init__(self, start: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move on, or back."""
        self.now += timedelta(seconds=seconds)


class ServerProcess:
    """`python -m mos.local.firestore` in a process of its own.

    Args:
        arguments: more of its command line, such as `["--data", path]` or `["--locking", "pessimistic"]`.
    """

    def __init__(self, arguments: Sequence[str] = (), *, port: int = 0) -> None:
        command = [sys.executable, "-m", "mos.local.firestore", "--port", str(port), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self._await_ready()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.address.rpartition(":")[2])

    def _await_ready(self) -> str:
        pipe = self.process.stdout
        assert pipe is not None  # noqa: S101 - stdout=PIPE above
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            line = pipe.readline() if selector.select(START_SECONDS) else ""
        if not line.startswith(READY):
            self.kill()
            raise RuntimeError(f"The Firestore server did not start: {line}{self.errors}")
        return line.removeprefix(READY).strip()

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        self.process.kill()
        self._collect()

    def stop(self) -> int:
        """SIGTERM and wait; its exit code."""
        self.process.terminate()
        try:
            self._collect()
        except subprocess.TimeoutExpired:
            self.kill()
        return self.process.returncode

    errors = ""

    def _collect(self) -> None:
        _, errors = self.process.communicate(timeout=STOP_SECONDS)
        self.errors += errors or ""


@contextmanager
def server(*arguments: str, port: int = 0) -> Iterator[ServerProcess]:
    """A server process for the length of a `with` block."""
    running = ServerProcess(arguments, port=port)
    try:
        yield running
    finally:
        if running.process.returncode is None:
            running.stop()


@contextmanager
def client(address: str, project: str = "demo", *, caller: str | None = None) -> Iterator[Client]:
    """A stock client of a server, its channel closed at the end of the `with` block."""
    channel = grpc.insecure_channel(address, options=UNLIMITED)
    try:
        yield on_channel(channel, project, caller=caller)
    finally:
        channel.close()


def on_channel(channel: grpc.Channel, project: str = "demo", *, caller: str | None = None) -> Client:
    """A stock client on any channel."""
    made = Client(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
    made._firestore_api_internal = FirestoreClient(  # noqa: SLF001 - where the stock client keeps its transport
        transport=FirestoreGrpcTransport(channel=channel)
    )
    if caller is not None:
        tag(made, caller)
    return made


def tag(made: Client, caller: str) -> Client:
    """Let the server's meter count this client's calls under `caller`."""
    made._rpc_metadata.append((CALLER_HEADER, caller))  # noqa: SLF001 - the stock client's own list of metadata
    return made
