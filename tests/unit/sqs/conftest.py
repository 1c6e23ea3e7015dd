"""A stock boto3 client whose wire is scripted, and the model under a virtual clock."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from mos.clients.aws import make_boto_client
from mos.clients.sqs import Queues
from mos.local.aws.queues import QueueSpec, ensure_queue
from mos.local.aws.sqs_model import Faults, SqsModel

START = 1_800_000_000.0


class Wire:
    """Answers each HTTP request with the next line of a script, and notes what was asked."""

    def __init__(self, client: Any) -> None:
        self.script: list[Any] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        client.meta.events.register("before-send.sqs.*", self._answer)

    def url(self) -> None:
        """The answer to the look-up of a queue's URL."""
        self.ok({"QueueUrl": "https://sqs.example/1/q"})

    def ok(self, body: Any) -> None:
        self.script.append((200, {}, body))

    def error(self, code: str, *, status: int = 400, query_code: str | None = None, text: str = "because") -> None:
        headers = {"x-amzn-query-error": f"{query_code};Sender"} if query_code else {}
        self.script.append((status, headers, {"__type": f"com.amazonaws.sqs#{code}", "message": text}))

    def fails(self, error: Exception) -> None:
        self.script.append(error)

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.asked]

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().split(".")[1]
        self.asked.append((operation, json.loads(request.body)))
        assert self.script, f"nobody expected {operation}"
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, headers, body = answer
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return AWSResponse(request.url, status, headers, _Raw(content))


class _Raw:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self._content


@pytest.fixture(scope="session")
def stock() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        client = make_boto_client("sqs", region="eu-west-1", endpoint_url="http://127.0.0.1:9", max_attempts=3)
        yield client
        client.close()


@pytest.fixture
def wire(stock: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Three attempts a call, no pause between them."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    wire = Wire(stock)
    yield wire
    stock.meta.events.unregister("before-send.sqs.*", wire._answer)
    assert not wire.script, f"never asked for: {wire.script}"


@pytest.fixture
def queues(wire: Wire, stock: Any) -> Queues:
    return Queues(stock)


class Clock:
    """Virtual time, and things that happen in it while a long poll waits."""

    def __init__(self) -> None:
        self.now = START
        self.plan: list[tuple[float, Any]] = []

    def read(self) -> float:
        return self.now

    def at(self, seconds: float, act: Any) -> None:
        """Do this at START + seconds, if a wait gets there."""
        self.plan.append((START + seconds, act))

    def event(self) -> "Waiting":
        return Waiting(self)


class Waiting:
    """An event whose wait passes virtual time up to the next thing planned."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._flag = threading.Event()

    def set(self) -> None:
        self._flag.set()

    def clear(self) -> None:
        self._flag.clear()

    def is_set(self) -> bool:
        return self._flag.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        clock, end = self._clock, self._clock.now + (timeout or 0.0)
        while not self._flag.is_set() and clock.plan and clock.plan[0][0] <= end:
            clock.now, act = clock.plan.pop(0)
            act()
        if not self._flag.is_set():
            clock.now = end
        return self._flag.is_set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def model(clock: Clock, faults: Faults) -> SqsModel:
    """One queue `q`: hides for 30 s, three receives, then `q-dlq`."""
    model = SqsModel(now=clock.read, event=clock.event, faults=faults)
    ensure_queue(model.client(), QueueSpec(name="q", visibility_timeout=30, max_receive_count=3))
    return model


@pytest.fixture
def modelled(model: SqsModel) -> Queues:
    return Queues(model.client())


@pytest.fixture(scope="session")
def clock_type() -> type[Clock]:
    """For tests that make many clocks."""
    return Clock
