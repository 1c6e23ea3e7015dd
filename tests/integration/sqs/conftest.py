"""The two things the contract holds for: our model under a virtual clock, and moto behind HTTP."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mos.clients.aws import make_boto_client
from mos.clients.sqs import Queues
from mos.local.aws.queues import QueueSpec, ensure_queue
from mos.local.aws.server import AwsServer
from mos.local.aws.sqs_model import SqsModel

START = 1_800_000_000.0


@pytest.fixture(scope="session", autouse=True)
def _aws_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "local")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_PROFILE", "AWS_MAX_ATTEMPTS"):
            monkeypatch.delenv(name, raising=False)
        yield


class VirtualTime:
    """A clock that only waiting and `elapse` move."""

    def __init__(self) -> None:
        self.now = START

    def read(self) -> float:
        return self.now

    def event(self) -> "VirtualEvent":
        return VirtualEvent(self)


class VirtualEvent:
    """An event whose wait passes virtual time at once."""

    def __init__(self, clock: VirtualTime) -> None:
        self._clock = clock
        self._flag = threading.Event()

    def set(self) -> None:
        self._flag.set()

    def clear(self) -> None:
        self._flag.clear()

    def is_set(self) -> bool:
        return self._flag.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._flag.is_set():
            self._clock.now += timeout or 0.0
        return self._flag.is_set()


@dataclass
class Sqs:
    """One SQS, with one queue named `queue` that hides for 30 s and allows three receives."""

    kind: str
    client: Any
    queues: Queues
    elapse: Callable[[float], None]
    now: Callable[[], float]
    queue: str

    @property
    def url(self) -> str:
        return self.client.get_queue_url(QueueName=self.queue)["QueueUrl"]

    @property
    def is_moto(self) -> bool:
        return self.kind == "moto"

    def send(self, *bodies: str) -> list[str]:
        return [self.queues.send(self.queue, body, attributes={}) for body in bodies]

    def receive(self, limit: int = 10) -> list[Any]:
        return self.queues.receive(self.queue, max_messages=limit, wait_seconds=0)

    def one(self) -> Any:
        (received,) = self.receive(1)
        return received


@pytest.fixture(scope="session")
def moto_server() -> Iterator[AwsServer]:
    """The local stack's AWS server, in this process and on a free port."""
    server = AwsServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def moto_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock that moto's SQS reads."""
    shift = {"seconds": 0.0}
    for module in ("moto.sqs.models", "mos.local.aws.moto_sqs"):
        monkeypatch.setattr(f"{module}.unix_time", lambda *_: time.time() + shift["seconds"])
    monkeypatch.setattr("moto.sqs.models.unix_time_millis", lambda *_: (time.time() + shift["seconds"]) * 1000)

    def elapse(seconds: float) -> None:
        shift["seconds"] += seconds

    elapse.now = lambda: time.time() + shift["seconds"]  # type: ignore[attr-defined]
    return elapse


@pytest.fixture(scope="session")
def moto_client(moto_server: AwsServer, _aws_environment: None) -> Iterator[Any]:
    client = make_boto_client("sqs", endpoint_url=moto_server.url, max_attempts=1)
    yield client
    client.close()


@pytest.fixture(params=["model", "moto"])
def sqs(request: pytest.FixtureRequest) -> Sqs:
    """Each test runs on the model and on moto."""
    queue = f"q-{time.time_ns()}"
    if request.param == "moto":
        elapse = request.getfixturevalue("moto_clock")
        client = request.getfixturevalue("moto_client")
        now = elapse.now
    else:
        clock = VirtualTime()
        client = SqsModel(now=clock.read, event=clock.event)
        now = clock.read

        def elapse(seconds: float) -> None:
            clock.now += seconds

    ensure_queue(client, QueueSpec(name=queue, visibility_timeout=30, max_receive_count=3))
    return Sqs(request.param, client, Queues(client), elapse, now, queue)
