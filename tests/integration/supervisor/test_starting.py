"""Parts come up in order, or the start says why not."""

import http.server
import os
import sys
import threading

import psutil
import pytest

from mos.local.supervisor import (
    Finishes,
    HttpAnswers,
    Part,
    Phase,
    PortOpen,
    StackError,
    Supervisor,
    free_port,
)
from mos.local.supervisor.ending import carries
from mos.local.supervisor.probes import is_ready
from mos.local.supervisor.process import mark_of

NOTE = "import sys; open(sys.argv[0] if 0 else {path!r}, 'a').write({word!r} + ' ');"
SERVICE = "print('up', flush=True); import signal; signal.pause()"


def test_a_part_starts_only_after_what_it_depends_on_is_ready(part, state_dir, tmp_path):
    order = str(tmp_path / "order")
    note = {word: NOTE.format(path=order, word=word) for word in ("base", "step", "top")}
    parts = [
        part("top", note["top"] + SERVICE, depends_on=["step"]),
        part("step", note["step"], ready=Finishes(), depends_on=["base"]),
        part("base", note["base"] + SERVICE),
    ]
    with Supervisor(parts, state_dir) as supervisor:
        phases = {p.name: p.phase for p in supervisor.status().parts}
    assert phases == {"base": Phase.READY, "step": Phase.DONE, "top": Phase.READY}
    assert (tmp_path / "order").read_text().split() == ["base", "step", "top"]


def test_the_record_gives_addresses_pids_and_logs(part, state_dir):
    with Supervisor([part(address="127.0.0.1:1")], state_dir, addresses={"X_HOST": "127.0.0.1:1"}) as supervisor:
        record = supervisor.status()
        assert record.up
        assert record.addresses == {"X_HOST": "127.0.0.1:1"}
        assert record.part("service").address == "127.0.0.1:1"
        assert psutil.Process(record.part("service").pid).is_running()
        assert record.part("service").log.read_text() == "up\n"


def test_a_part_gets_its_environment_and_loses_what_is_removed(part, state_dir, monkeypatch):
    monkeypatch.setenv("UNWANTED", "1")
    show = "import os; print(os.environ.get('WANTED'), os.environ.get('UNWANTED'), flush=True);" + SERVICE
    with Supervisor([part(program=show, env={"WANTED": "yes", "UNWANTED": None})], state_dir) as supervisor:
        assert supervisor.status().part("service").log.read_text().startswith("yes None\n")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("print('bad setting', flush=True); raise SystemExit(3)", "ended with exit code 3 before it was ready"),
        ("print('bad setting', flush=True); import signal; signal.pause()", "was not ready within 0.5 s"),
    ],
)
def test_a_part_that_does_not_come_up_is_told_with_the_end_of_its_log(part, state_dir, program, why):
    with pytest.raises(StackError, match=why) as caught:
        Supervisor([part(program=program, start_timeout=0.5)], state_dir).start()
    assert str(state_dir / "logs" / "service.log") in str(caught.value)
    assert "bad setting" in str(caught.value)
    assert caught.value.exit_code == 69


def test_a_failed_start_leaves_nothing_running(part, state_dir):
    supervisor = Supervisor([part("good"), part("bad", "raise SystemExit(1)", depends_on=["good"])], state_dir)
    with pytest.raises(StackError):
        supervisor.start()
    assert not [p for p in psutil.process_iter() if carries(p, mark_of(state_dir))]
    assert not (state_dir / "stack.json").exists()


def test_a_program_that_does_not_exist_is_named(state_dir):
    with pytest.raises(StackError, match="cannot run no-such-program: No such file"):
        Supervisor([Part(name="p", argv=["no-such-program"], ready=PortOpen(1))], state_dir).start()


def test_a_second_supervisor_on_the_same_directory_is_refused_and_the_first_runs_on(part, state_dir, gone):
    with Supervisor([part()], state_dir) as first:
        with pytest.raises(StackError, match=r"already running from .*`mos down`"):
            Supervisor([part()], state_dir).start()
        assert not gone(first.status().part("service").pid)
        assert (state_dir / "stack.json").exists()


def test_a_state_directory_that_cannot_be_made_is_told(part, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StackError, match=r"cannot write to .*choose another"):
        Supervisor([part()], tmp_path / "file" / "state").start()


def test_the_log_of_the_run_before_is_kept_beside_the_new_one(part, state_dir):
    for word in ("first", "second"):
        with Supervisor([part(program=f"print({word!r});" + SERVICE)], state_dir):
            pass
    assert (state_dir / "logs" / "service.log").read_text().startswith("second")
    assert (state_dir / "logs" / "service.log.1").read_text().startswith("first")


def test_signals_that_our_parent_ignored_are_not_ignored_in_a_part(state_dir, part):
    """A shell's `cmd &` leaves SIGINT ignored, and a Prefect worker would then ignore SIGTERM."""
    show = "import signal; print(signal.getsignal(2), signal.getsignal(15), signal.pthread_sigmask(0, []));" + SERVICE
    program = (
        "import signal, sys, pathlib; signal.signal(2, signal.SIG_IGN); signal.pthread_sigmask(0, [15])\n"
        "from mos.local.supervisor import *\n"
        f"p = Part(name='p', argv=[sys.executable, '-S', '-c', {show!r}], ready=LogLine('up'))\n"
        f"Supervisor([p], pathlib.Path({str(state_dir)!r})).__enter__().stop()"
    )
    done = psutil.Popen([sys.executable, "-c", program])
    assert done.wait(20) == 0
    assert (state_dir / "logs" / "p.log").read_text().startswith("<built-in function default_int_handler> 0 set()")


def test_the_http_probe_waits_for_an_answer_below_500():
    class Handler(http.server.BaseHTTPRequestHandler):
        status = 503

        def do_GET(self):
            self.send_response(self.status)
            self.end_headers()

        def log_message(self, *_):
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        probe = HttpAnswers(f"http://127.0.0.1:{server.server_port}/")
        answers = []
        for Handler.status in (503, 404, 200):
            answers.append(is_ready(probe, str))
        assert is_ready(PortOpen(server.server_port), str)
        server.shutdown()
        thread.join()
    assert answers == [False, True, True]


def test_probes_of_a_port_where_nobody_listens_say_no():
    port = free_port()
    assert not is_ready(HttpAnswers(f"http://127.0.0.1:{port}/"), str)
    assert not is_ready(PortOpen(port), str)


def test_a_log_line_counts_only_if_this_start_wrote_it(part, state_dir, eventually):
    """After a restart the `up` of the life before does not make the part ready."""
    once = (
        "import os, signal; first = not os.path.exists('been-here'); open('been-here', 'w')\n"
        "first and print('up', flush=True); signal.pause()"
    )
    state_dir.mkdir()
    with Supervisor([part(program=once, cwd=state_dir, start_timeout=0.5)], state_dir) as supervisor:
        os.kill(supervisor.status().part("service").pid, 9)
        eventually(lambda: supervisor.status().part("service").reason == "was not ready within 0.5 s")
