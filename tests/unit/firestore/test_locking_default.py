"""The concurrency mode can be chosen for a whole process, so that any suite can be run in either."""

import pytest

from mos.local.firestore.__main__ import main
from mos.local.firestore.engine import Engine
from mos.local.firestore.transactions import LOCKING_VARIABLE, Locking


@pytest.mark.parametrize("mode", Locking)
def test_the_environment_chooses_the_mode_of_engines_that_do_not(monkeypatch, mode):
    monkeypatch.setenv(LOCKING_VARIABLE, mode)
    assert Engine().locking is mode
    assert Engine(locking="optimistic").locking is Locking.OPTIMISTIC


@pytest.mark.parametrize("value", [None, ""])
def test_without_it_the_mode_is_optimistic(monkeypatch, value):
    monkeypatch.delenv(LOCKING_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(LOCKING_VARIABLE, value)
    assert Engine().locking is Locking.OPTIMISTIC


def test_the_server_refuses_another_word_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setenv(LOCKING_VARIABLE, "hopeful")
    monkeypatch.setattr("sys.argv", ["firestore"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert f"{LOCKING_VARIABLE}: 'hopeful' is not a valid Locking" in capsys.readouterr().err
