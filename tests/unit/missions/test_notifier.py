"""Telling people through a real HTTP server on loopback."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from mos import logs
from mos.clients.notifier import Notifier
from mos.domain.errors import ExternalServiceError


class Hook:
    """A webhook that answers with `status`."""

    def __init__(self) -> None:
        self.status, self.bodies = 200, []  # type: int, list[str]
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


@pytest.fixture
def lines() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("test", stream=stream)
    return stream


def tell(notifier: Notifier) -> None:
    notifier.notify(severity="critical", text="job j failed <!channel>", facts={"jobId": "j", "message": None})


def test_without_a_webhook_it_is_a_log_line(lines: io.StringIO) -> None:
    tell(Notifier())
    assert "job j failed" in lines.getvalue()


def test_a_webhook_gets_one_text_that_calls_nobody(hook: Hook, lines: io.StringIO) -> None:
    tell(Notifier(hook.url))
    assert json.loads(hook.bodies[0]) == {"text": "[critical] job j failed &lt;!channel&gt;\njobId: j"}
    assert "job j failed" in lines.getvalue()


def test_a_webhook_that_refuses_is_an_error_with_its_status(hook: Hook, lines: io.StringIO) -> None:
    hook.status = 503
    with pytest.raises(ExternalServiceError, match="answered 503") as caught:
        tell(Notifier(hook.url))
    assert caught.value.status == 503


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/hook", "not a url", "http://["])
def test_a_webhook_that_is_not_there_is_an_error_of_ours(url: str, lines: io.StringIO) -> None:
    with pytest.raises(ExternalServiceError, match="did not answer"):
        tell(Notifier(url))
