"""Our client against servers that answer what the real one does not here: other stores, proxies, nonsense."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mos.clients.nexrender import (
    CENSUS_PAUSE_SECONDS,
    Ambiguous,
    Health,
    Nexrender,
    Refused,
    as_error,
)
from mos.domain.errors import NexrenderError, SettingsError
from mos.domain.rendering import Census, Missing, UnknownAnswer
from mos.runtime import SystemRuntime

JOB = {"uid": "u1", "note": "lone surrogate \ud800"}


class Scripted:
    """A server that answers by (method, path) and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, bytes]] = {}
        self.asked: list[tuple[str, str]] = []
        self.hold = threading.Event()
        self.hold.set()
        self.entered = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                outer.asked.append((self.command, self.path))
                outer.entered.set()
                outer.hold.wait(20)
                status, body = outer.answers.get((self.command, self.path), (200, b""))
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - the base class's names

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class Clock(SystemRuntime):
    """A clock that stands still until it is moved."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def server():
    scripted = Scripted()
    yield scripted
    scripted.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(server, clock):
    with Nexrender(server.url, "s", runtime=clock) as client:
        yield client


@pytest.mark.parametrize("status", [200, 204, 302, 408, 499, 500, 502, 503, 504])
def test_a_post_that_no_real_answer_follows_is_ambiguous_and_asked_about_once(server, client, status):
    server.answers["POST", "/api/v1/jobs"] = (status, b"")
    outcome = client.submit(JOB)
    assert isinstance(outcome, Ambiguous)
    assert outcome.answer == Missing()
    assert server.asked == [("POST", "/api/v1/jobs"), ("GET", "/api/v1/jobs/u1")]


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (413, False), (403, True), (404, True), (429, True)])
def test_a_refused_post_is_not_asked_about(server, client, status, retryable):
    server.answers["POST", "/api/v1/jobs"] = (status, b"why\n\x1b[31m")
    outcome = client.submit(JOB)
    assert isinstance(outcome, Refused)
    assert (outcome.status, outcome.retryable) == (status, retryable)
    assert "\x1b" not in outcome.reason
    assert len(server.asked) == 1


def test_a_record_of_another_uid_is_no_acceptance(server, client):
    server.answers["POST", "/api/v1/jobs"] = (200, b'{"uid": "u2", "state": "queued"}')
    assert isinstance(client.submit(JOB), Ambiguous)


def test_the_heavy_list_is_read_only_where_the_light_one_fails(server, client):
    server.answers["GET", "/api/v1/jobs/status"] = (500, b"")
    server.answers["GET", "/api/v1/jobs"] = (200, b'[{"uid": "u1", "state": "queued"}]')
    assert list(client.census().records) == ["u1"]
    server.answers["GET", "/api/v1/jobs/status"] = (403, b"no")
    assert isinstance(client.census(), UnknownAnswer)
    assert server.asked.count(("GET", "/api/v1/jobs")) == 1


def test_one_list_is_under_way_at_a_time(server, client):
    server.answers["GET", "/api/v1/jobs/status"] = (200, b"[]")
    server.hold.clear()
    first: list[object] = []
    asking = threading.Thread(target=lambda: first.append(client.census()))
    asking.start()
    assert server.entered.wait(10)
    assert isinstance(client.census(), UnknownAnswer)
    server.hold.set()
    asking.join()
    assert first == [Census({})]
    assert len(server.asked) == 1


def test_after_a_list_that_timed_out_there_is_a_pause(server, client, clock, monkeypatch):
    """Repeated lists would lock the server up."""
    monkeypatch.setattr("mos.clients.nexrender.CENSUS_SECONDS", 0.05)
    server.answers["GET", "/api/v1/jobs/status"] = (200, b"[]")
    server.hold.clear()
    assert isinstance(client.census(), UnknownAnswer)
    server.hold.set()
    clock.now += CENSUS_PAUSE_SECONDS - 1
    assert isinstance(client.census(), UnknownAnswer)
    assert len(server.asked) == 1
    clock.now += 1
    assert client.census() == Census({})


def test_a_delete_that_nobody_can_verify_is_unknown(server, client):
    server.answers["GET", "/api/v1/jobs/u1"] = (502, b"")
    assert isinstance(client.remove("u1"), UnknownAnswer)
    assert not [asked for asked in server.asked if asked[0] == "DELETE"]


def test_health_is_exactly_ok(server, client):
    server.answers["GET", "/api/v1/health"] = (200, b"ok")
    assert client.health() == Health(ok=True)
    for answer in ((200, b"<html>a proxy's page</html>"), (503, b"ok"), (200, b"")):
        server.answers["GET", "/api/v1/health"] = answer
        assert not client.health().ok


@pytest.mark.parametrize("url", ["", "farm:3000", "ftp://farm", "http://", "\x00"])
def test_an_address_that_is_none_is_a_settings_error(url):
    with pytest.raises(SettingsError, match="NEXRENDER_URL"):
        Nexrender(url, "s", runtime=SystemRuntime())


@pytest.mark.parametrize("secret", ["é", "a\nb", "a\x00"])
def test_a_secret_that_no_header_carries_is_a_settings_error(secret):
    with pytest.raises(SettingsError, match="NEXRENDER_SECRET"):
        Nexrender("http://127.0.0.1:1", secret, runtime=SystemRuntime())


@pytest.mark.parametrize(
    ("outcome", "code", "retryable"),
    [
        (Refused("bad job", retryable=False, status=400), "refused", False),
        (Refused("not sent", retryable=True), "refused", True),
        (Ambiguous("time-out", Missing()), "ambiguous", False),
        (UnknownAnswer("status 502"), "unknown_answer", True),
    ],
)
def test_outcomes_are_errors_of_the_hierarchy_for_whoever_wants_one(outcome, code, retryable):
    error = as_error(outcome)
    assert isinstance(error, NexrenderError)
    assert (error.service, error.code, error.retryable) == ("nexrender", code, retryable)
