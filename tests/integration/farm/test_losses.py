"""What is lost, and what only looks lost: a server that restarts, loses its file, or whose answers never arrive."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from mos.clients.nexrender import Accepted, Ambiguous, Nexrender, Refused
from mos.domain.rendering import Census, Known, Missing, UnknownAnswer
from mos.local.farm.behaviour import Act, Behaviour
from mos.local.supervisor import free_port
from mos.runtime import SystemRuntime

pytestmark = pytest.mark.xdist_group("farm")


class Cutting:
    """A TCP proxy that passes requests on and cuts the connection before some answers reach the client."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.deaf: set[bytes] = set()
        """Methods whose requests never reach the server."""
        self.mute: set[bytes] = set()
        """Methods whose answers never reach the client."""
        self.seen: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = connection.recv(1 << 20)
            while b"\r\n\r\n" not in request or len(request.partition(b"\r\n\r\n")[2]) < _length(request):
                request += connection.recv(1 << 20)
            method = request.split(b" ", 1)[0]
            self.seen.append(method)
            if method in self.deaf:
                return
            head, _, body = request.partition(b"\r\n\r\n")
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                server.sendall(head + b"\r\nconnection: close\r\n\r\n" + body)
                answer = b""
                while chunk := server.recv(1 << 20):
                    answer += chunk
            if method not in self.mute:
                connection.sendall(answer)


def _length(request: bytes) -> int:
    for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


@pytest.fixture
def proxy(idle) -> Iterator[Cutting]:
    cutting = Cutting(int(idle.url.rpartition(":")[2]))
    yield cutting
    cutting.close()


@pytest.fixture
def through(idle, proxy):
    with Nexrender(proxy.url, idle.secret, runtime=SystemRuntime()) as client:
        yield client


def test_a_post_whose_answer_is_lost_is_found_by_its_uid_and_never_repeated(proxy, through, idle, uid, tmp_path):
    proxy.mute = {b"POST"}
    assert isinstance(through.submit(idle.job(uid, output=tmp_path / "out.mp4")), Accepted)
    assert proxy.seen == [b"POST", b"GET"]


def test_a_post_that_never_arrived_stays_ambiguous(proxy, through, idle, uid, tmp_path):
    """It may still be under way: only whoever stored the uid may ask for it again later."""
    proxy.deaf = {b"POST"}
    outcome = through.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    assert isinstance(outcome, Ambiguous)
    assert outcome.answer == Missing()
    assert proxy.seen.count(b"POST") == 1


def test_a_post_after_which_nothing_answers_stays_ambiguous(proxy, through, idle, uid, tmp_path, client_of):
    proxy.mute = {b"POST", b"GET"}
    outcome = through.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    assert isinstance(outcome, Ambiguous)
    assert isinstance(outcome.answer, UnknownAnswer)
    assert isinstance(client_of(idle).get(uid), Known)
    assert proxy.seen.count(b"POST") == 1


def test_a_post_to_nobody_was_not_sent(idle, uid, tmp_path):
    with Nexrender(f"http://127.0.0.1:{free_port()}", "s", runtime=SystemRuntime()) as client:
        refused = client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
        assert isinstance(refused, Refused)
        assert refused.retryable
        assert isinstance(client.get(uid), UnknownAnswer)
        assert not client.health().ok


def test_a_restarted_server_keeps_its_jobs(own_farm, uid, tmp_path, client_of, wait):
    farm = own_farm()
    client = client_of(farm)
    client.submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: farm.database.exists() and uid in farm.database.read_text(), "the file was written")
    farm.stop_server()
    assert isinstance(client.get(uid), UnknownAnswer)
    farm.start_server()
    assert isinstance(client.get(uid), Known)


def test_an_emptied_file_starts_empty_while_the_render_goes_on_and_delivers(
    own_farm, uid, tmp_path, client_of, record_of, wait
):
    """So "no such job" can be true while the render is alive."""
    farm = own_farm("i-0a")
    client = client_of(farm)
    farm.script.for_uid(uid, Behaviour(act=Act.SLOW))
    client.submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: record_of(farm, uid).state == "render:dorender", "the render is under way")
    farm.stop_server()
    farm.database.write_bytes(b"")
    farm.start_server()
    assert client.health().ok
    assert client.get(uid) == Missing()
    assert client.census() == Census({})
    farm.script.release(uid)
    wait(lambda: f"[{uid}] cleaning up" in farm.log("i-0a"), "the render delivered")
    assert (tmp_path / "out.mp4").stat().st_size > 1000
    assert client.get(uid) == Missing()


def test_a_truncated_file_keeps_the_server_from_starting(own_farm, uid, tmp_path, client_of, wait):
    farm = own_farm()
    client_of(farm).submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: farm.database.exists() and uid in farm.database.read_text(), "the file was written")
    farm.stop_server()
    farm.database.write_text(farm.database.read_text()[:-20])
    with pytest.raises(ChildProcessError, match="database"):
        farm.start_server()


def test_a_render_that_ends_while_the_server_is_down_stays_active_for_ever(
    own_farm, uid, tmp_path, client_of, record_of, wait
):
    """The last PUT is not repeated: the output is there, the record never moves again."""
    farm = own_farm("i-0a")
    farm.script.for_uid(uid, Behaviour(act=Act.SLOW))
    client_of(farm).submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: record_of(farm, uid).state == "render:dorender", "the render is under way")
    wait(lambda: "render:dorender" in farm.database.read_text(), "the file was written")
    farm.stop_server()
    farm.script.release(uid)
    wait(lambda: f"[{uid}] abandoned" in farm.log("i-0a"), "the worker gave up on its record")
    farm.start_server()
    assert record_of(farm, uid).state == "render:dorender"
    assert (tmp_path / "out.mp4").stat().st_size > 1000
