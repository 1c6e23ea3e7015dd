"""moto's server as one process of the local stack.

Its state is in memory: a restart loses queues, buckets and messages, and the
supervisor provisions again. All servers of one process share that state.

A `Front` is a WSGI application around moto's, for the services that moto only
pretends to offer: it answers what it knows and hands the rest on.
"""

from __future__ import annotations

import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from mos.local.aws.moto_sqs import correct_moto_sqs

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

Front = Callable[["WSGIApplication"], "WSGIApplication"]

UNAVAILABLE = 69
"""Exit code of sysexits.h for a service that cannot be offered, here for want of its port."""
_STOP_POLL = 0.2
"""Seconds between looks at the stop request."""


class PortTaken(Exception):
    """The address is in use by another program."""


class AwsServer:
    """A moto server on a socket of ours, in a thread of its own.

    Raises:
        PortTaken: the port is in use.
        OSError: the address cannot be bound for another reason.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, fronts: Sequence[Front] = ()) -> None:
        correct_moto_sqs()
        with _listen(host, port) as listening:
            self._server = make_server(
                host,
                listening.getsockname()[1],
                build_app(fronts),
                threaded=True,
                request_handler=_QuietHandler,
                fd=listening.fileno(),
            )
        self.url = f"http://{host}:{self._server.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _STOP_POLL}, name="aws", daemon=True
        )

    def start(self) -> None:
        """Accept requests; the socket has been listening since the server was made."""
        self._thread.start()

    def stop(self) -> None:
        """Accept nothing more and free the port. Open long polls end with the process."""
        self._server.shutdown()
        self._thread.join()


def build_app(fronts: Sequence[Front] = ()) -> WSGIApplication:
    """The moto application behind the fronts; the first one sees a request first."""
    app: WSGIApplication = DomainDispatcherApplication(create_backend_app)
    for front in reversed(fronts):
        app = front(app)
    return app


def serve(
    host: str, port: int, *, fronts: Sequence[Front] = (), provision: Callable[[str], None] = lambda _: None
) -> int:
    """Run until SIGTERM or SIGINT; the exit code.

    `provision` gets the URL before the server says that it is ready: its state
    is in memory, so queues and bucket must be there again after each restart.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = AwsServer(host, port, fronts=fronts)
    except PortTaken as taken:
        sys.stderr.write(f"{taken}\n")
        return UNAVAILABLE
    server.start()
    provision(server.url)
    sys.stdout.write(f"aws ready on {server.url}\n")
    sys.stdout.flush()
    stop.wait()
    server.stop()
    return 0


class _QuietHandler(MotoRequestHandler):
    """Errors are logged, requests are not: a long poll a second would bury everything else."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=128)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise PortTaken(
            f"port {port} on {host} is in use by another program; end it or choose another one with --port"
        ) from error
