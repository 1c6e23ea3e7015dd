"""stack.json and process identities."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mos.local.supervisor import Phase
from mos.local.supervisor.identity import identity_of, is_running
from mos.local.supervisor.record import PartRecord, StackRecord, read, write

PART = PartRecord(
    name="p", phase=Phase.READY, pid=1, identity="i", restarts=2, address=None, log=Path("p.log"), reason=""
)
RECORD = StackRecord(supervisor=7, supervisor_identity="s", up=True, parts=(PART,), addresses={"A": "b"})


def test_a_record_reads_back_as_it_was_written(tmp_path):
    write(tmp_path / "stack.json", RECORD)
    assert read(tmp_path / "stack.json") == RECORD
    assert [p.name for p in tmp_path.iterdir()] == ["stack.json"]


def test_a_half_written_file_never_stands_under_the_real_name(tmp_path, monkeypatch):
    write(tmp_path / "stack.json", RECORD)

    def die(_):
        raise SystemError

    monkeypatch.setattr(os, "fsync", die)
    with pytest.raises(SystemError):
        write(tmp_path / "stack.json", RECORD.model_copy(update={"up": False}))
    assert read(tmp_path / "stack.json") == RECORD


@pytest.mark.parametrize("text", ["", "{", "[]", '{"supervisor": 1}', "\x00"])
def test_a_damaged_record_counts_as_none(tmp_path, text):
    (tmp_path / "stack.json").write_text(text)
    assert read(tmp_path / "stack.json") is None


def test_no_record_is_none(tmp_path):
    assert read(tmp_path / "stack.json") is None


def test_an_identity_is_the_same_each_time_and_differs_between_processes():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        mine, its = identity_of(os.getpid()), identity_of(child.pid)
        assert mine == identity_of(os.getpid())
        assert mine != its
        assert is_running(child.pid, its)
        assert not is_running(child.pid, mine)
        child.kill()
    assert identity_of(child.pid) is None


def test_a_zombie_is_not_running():
    child = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity_of(child.pid) is None
    child.wait()
    child.stdout.close()
