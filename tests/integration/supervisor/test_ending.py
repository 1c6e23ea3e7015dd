"""Whatever ends the stack, nothing of it runs on."""

import os
import shutil
import signal

import psutil
import pytest

from mos.local.supervisor import Phase, StackError, Supervisor
from mos.local.supervisor.ending import end_all

SERVICE = "print('up', flush=True); import signal; signal.pause()"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SERVICE
LAST_WORD = (
    "import signal, sys\ndef bye(*_): open({path!r}, 'a').write({word!r} + ' '); sys.exit()\n"
    "signal.signal(signal.SIGTERM, bye); print('up', flush=True)\nwhile True: signal.pause()"
)


def test_a_part_that_dies_is_started_again(part, state_dir, eventually):
    with Supervisor([part()], state_dir) as supervisor:
        first = supervisor.status().part("service").pid
        os.kill(first, signal.SIGKILL)
        again = eventually(
            lambda: (p := supervisor.status().part("service")).restarts == 1 and p.phase is Phase.READY and p
        )
        assert again.pid != first


def test_what_a_dead_part_left_behind_is_ended_before_it_starts_again(
    part, state_dir, eventually, gone, parent_program, child_of
):
    parts = [part(program=parent_program(leaves=True)), part("other")]
    with Supervisor(parts, state_dir) as supervisor:
        record = supervisor.status()
        child = child_of(record)
        os.kill(record.part("service").pid, signal.SIGKILL)
        eventually(lambda: gone(child))
        assert not gone(record.part("other").pid)


@pytest.mark.parametrize("leaves", [False, True], ids=["in the group", "left group and session"])
def test_children_of_parts_end_with_the_stack(part, state_dir, gone, parent_program, child_of, leaves):
    with Supervisor([part(program=parent_program(leaves=leaves))], state_dir) as supervisor:
        child = child_of(supervisor.status())
        assert not gone(child)
    assert gone(child)


def test_a_part_that_ignores_the_request_is_killed_with_its_children(part, state_dir, gone, parent_program, child_of):
    program = parent_program(child=STUBBORN, then=STUBBORN)
    with Supervisor([part(program=program, stop_timeout=0.2)], state_dir) as supervisor:
        record = supervisor.status()
    assert gone(record.part("service").pid)
    assert gone(child_of(record))


def test_a_frozen_part_is_woken_to_end_in_its_own_way(part, state_dir, tmp_path):
    with Supervisor([part(program=LAST_WORD.format(path=str(tmp_path / "said"), word="bye"))], state_dir) as supervisor:
        os.kill(supervisor.status().part("service").pid, signal.SIGSTOP)
    assert (tmp_path / "said").read_text() == "bye "


def test_an_orphan_in_a_parts_session_ends_though_it_lost_every_mark(part, state_dir, gone, child_of):
    orphaning = "import os; os.system('env -i sleep 600 & echo child $!');" + SERVICE
    with Supervisor([part(program=orphaning)], state_dir) as supervisor:
        child = child_of(supervisor.status())
        assert not gone(child)
    assert gone(child)


def test_dependants_end_before_what_they_depend_on(part, state_dir, tmp_path):
    """The dependant takes its time: were both asked together, the other would be first."""
    path = str(tmp_path / "order")
    slow = LAST_WORD.replace("def bye(*_):", "def bye(*_): __import__('time').sleep(0.3);")
    parts = [
        part("base", LAST_WORD.format(path=path, word="base")),
        part("top", slow.format(path=path, word="top"), depends_on=["base"]),
    ]
    with Supervisor(parts, state_dir):
        pass
    assert (tmp_path / "order").read_text().split() == ["top", "base"]


def test_a_clean_end_leaves_no_record(part, state_dir):
    with Supervisor([part()], state_dir):
        assert (state_dir / "stack.json").exists()
    assert not (state_dir / "stack.json").exists()


def test_a_removed_state_directory_ends_the_stack(part, state_dir, gone):
    """Its lock protects nobody any more: a second stack could start in the same place."""
    supervisor = Supervisor([part()], state_dir)
    pid = supervisor.start().part("service").pid
    shutil.rmtree(state_dir)
    with pytest.raises(StackError, match="was removed while its stack ran"):
        supervisor.wait(20)
    assert gone(pid)


def test_a_state_directory_that_cannot_be_written_any_more_ends_the_stack_in_a_sentence(part, state_dir):
    supervisor = Supervisor([part()], state_dir)
    pid = supervisor.start().part("service").pid
    (state_dir / "stack.json.new").mkdir()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(StackError, match=r"the stack ended: .*stack\.json\.new.* start it again"):
        supervisor.wait(20)


def test_we_and_those_above_us_are_never_ended_by_a_mark(monkeypatch):
    """A stack started from inside a part of the same directory must not end itself."""
    child = psutil.Popen(["/bin/sleep", "60"], env={**os.environ, "MOS_STACK_MARK": "m/p"})
    monkeypatch.setattr(os, "getpid", lambda: child.pid)
    assert end_all([], marks=["m"], timeout=0).asked == frozenset()
    monkeypatch.undo()
    assert end_all([], marks=["m"], timeout=5).asked == {child.pid}
    child.wait()
