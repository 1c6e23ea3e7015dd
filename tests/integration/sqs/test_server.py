"""The AWS process of the local stack: its words, its exit codes, its seam, and how it serves several workers."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import moto.sqs.models
import pytest

from mos.clients.aws import make_boto_client
from mos.clients.sqs import LONGEST_POLL, Queues, connect_queues
from mos.domain.errors import QueueError
from mos.local.aws.moto_sqs import SERIAL
from mos.local.aws.queues import QueueSpec, ensure_queue
from mos.local.aws.server import AwsServer, PortTaken, build_app

COMMAND = [sys.executable, "-m", "mos.local.aws"]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        yield running
        running.kill()


@pytest.fixture
def live(moto_server, moto_client) -> Iterator[tuple[Queues, str]]:
    """Queues as a process of the product builds them, on a real clock, and an empty queue."""
    queues = connect_queues(endpoint_url=moto_server.url)
    name = f"live-{time.time_ns()}"
    ensure_queue(moto_client, QueueSpec(name=name, visibility_timeout=300, max_receive_count=3))
    yield queues, name
    queues._calls.close()
    queues._polls.close()


def url_of(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline()
    assert line.startswith("aws ready on http://127.0.0.1:"), line
    return line.removeprefix("aws ready on ").strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_serves_and_ends_cleanly_with_a_long_poll_open(process, number):
    client = make_boto_client("sqs", endpoint_url=url_of(process), read_timeout=30, max_attempts=1)
    queues = Queues(client)
    ensure_queue(client, QueueSpec(name="open", visibility_timeout=30, max_receive_count=3))
    ended = []
    polling = threading.Event()
    client.meta.events.register("before-send.sqs.ReceiveMessage", lambda **_: polling.set())

    def poll():
        try:
            queues.receive("open", max_messages=1, wait_seconds=20)
        except QueueError as error:
            ended.append(error.code)

    poller = threading.Thread(target=poll)
    poller.start()
    assert polling.wait(10)
    queues.depth("open")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    poller.join(10)
    client.close()
    assert (process.returncode, out, err) == (0, "", "")
    assert ended == ["connection"]


def test_a_taken_port_is_one_sentence_and_exit_code_69():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = subprocess.run([*COMMAND, "--port", str(port)], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (69, "")
    assert (
        done.stderr
        == f"port {port} on 127.0.0.1 is in use by another program; end it or choose another one with --port\n"
    )


def test_a_stopped_server_frees_its_port():
    server = AwsServer()
    server.start()
    port = int(server.url.rsplit(":", 1)[1])
    with pytest.raises(PortTaken):
        AwsServer(port=port)
    server.stop()
    socket.create_server(("127.0.0.1", port)).close()


def test_a_front_answers_what_it_knows_and_moto_gets_the_rest(moto_client):
    def front(inner):
        def app(environ, start_response):
            if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("AmazonSSM."):
                return inner(environ, start_response)
            start_response("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
            return [json.dumps({"Commands": [{"CommandId": "from-the-front"}]}).encode()]

        return app

    server = AwsServer(fronts=[front])
    server.start()
    ssm = make_boto_client("ssm", endpoint_url=server.url, max_attempts=1)
    sqs = make_boto_client("sqs", endpoint_url=server.url, max_attempts=1)
    assert ssm.list_commands()["Commands"][0]["CommandId"] == "from-the-front"
    assert sqs.create_queue(QueueName="behind")["QueueUrl"].endswith("/behind")
    ssm.close()
    sqs.close()
    server.stop()


def test_the_first_front_sees_a_request_first():
    seen = []

    def named(name):
        def front(inner):
            def app(environ, start_response):
                seen.append(name)
                return inner(environ, start_response)

            return app

        return front

    def ends(_inner):
        def app(_environ, start_response):
            start_response("204 No Content", [])
            return []

        return app

    list(build_app([named("first"), named("second"), ends])({}, lambda *_: None))
    assert seen == ["first", "second"]


def test_a_receive_does_not_count_the_whole_queue(live, monkeypatch):
    """moto reads all attributes for each message that it hands out; with a thousand messages that takes a second."""
    queues, name = live
    queues.send(name, "a", attributes={})
    counted = []
    monkeypatch.setattr("moto.sqs.models.Queue.attributes", property(lambda _: counted.append(1) or {}))
    assert len(queues.receive(name, max_messages=1, wait_seconds=0)) == 1
    assert not counted


@pytest.mark.parametrize(
    ("inside", "free"),
    [
        ("Message.mark_received", False),
        ("Queue.add_message", False),
        ("Queue.delete_message", False),
        ("Message.change_visibility", False),
        ("Queue.wait_for_messages", True),
    ],
)
def test_calls_take_turns_but_a_waiting_poll_holds_nobody_up(live, monkeypatch, inside, free):
    """moto's lists are unguarded: two receives could hand out one message, a send could be lost to a delete."""
    queues, name = live
    owner, method = inside.split(".")
    original = getattr(getattr(moto.sqs.models, owner), method)
    could_enter = []

    def observed(*args, **kwargs):
        other = threading.Thread(target=lambda: could_enter.append(_enter()))
        other.start()
        other.join()
        return original(*args, **kwargs)

    monkeypatch.setattr(f"moto.sqs.models.{inside}", observed)
    assert queues.receive(name, max_messages=1, wait_seconds=1 if free else 0) == []
    queues.send(name, "a", attributes={})
    (received,) = queues.receive(name, max_messages=1, wait_seconds=0)
    queues.extend(name, [(received.receipt_handle, 60)])
    queues.delete(name, [received.receipt_handle])
    assert set(could_enter) == {free}


def _enter() -> bool:
    if not SERIAL.acquire(blocking=False):
        return False
    SERIAL.release()
    return True


def test_a_long_poll_outlives_the_short_read_time_out_of_other_calls(live):
    queues, _ = live
    assert queues._polls.meta.config.read_timeout > LONGEST_POLL
    assert queues._calls.meta.config.read_timeout < 15


def test_open_long_polls_hold_nobody_up_and_each_ends_with_a_message(live):
    """Six polls of one queue wait while calls on it are answered; were they not, the polls would be over first."""
    queues, name = live
    arrived = []
    pollers = [
        threading.Thread(target=lambda: arrived.extend(queues.receive(name, max_messages=1, wait_seconds=20)))
        for _ in range(6)
    ]
    for poller in pollers:
        poller.start()
    for _ in range(5):
        assert queues.depth(name).total == 0
    assert all(poller.is_alive() for poller in pollers)
    for number in range(6):
        queues.send(name, str(number), attributes={})
    for poller in pollers:
        poller.join(15)
    assert not any(poller.is_alive() for poller in pollers)
    assert sorted(message.body for message in arrived) == list("012345")


def test_a_restarted_server_has_lost_its_queues_until_they_are_ensured_again(process):
    """State is in memory: what the supervisor must know."""
    queues = connect_queues(endpoint_url=url_of(process))
    with pytest.raises(QueueError, match="QueueDoesNotExist"):
        queues.depth("live")
    spec = QueueSpec(name="live", visibility_timeout=30, max_receive_count=3)
    ensure_queue(queues._calls, spec)
    assert queues.depth("live").total == 0
    queues._calls.close()
    queues._polls.close()
