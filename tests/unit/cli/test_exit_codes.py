"""A user's mistake ends with the documented code and one sentence, never a traceback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mos.cli.app import run
from mos.cli.exits import CommandError, Exit, exit_code_of
from mos.domain.errors import (
    AppError,
    ConflictError,
    PipelineStateError,
    QueueError,
    SettingsError,
    StateStoreError,
    ValidationError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("x"), Exit.USAGE),
        (ValidationError("x"), Exit.USAGE),
        (ConflictError("x"), Exit.USAGE),
        (QueueError("x"), Exit.UNREACHABLE),
        (StateStoreError("x"), Exit.UNREACHABLE),
        (PipelineStateError("x"), Exit.FAILED),
        (AppError("x"), Exit.FAILED),
        (CommandError("x", Exit.NOT_FOUND), Exit.NOT_FOUND),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: AppError, code: Exit) -> None:
    assert exit_code_of(error) == code


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nonsense"], Exit.USAGE, "No such command"),
        (["up", "--workers", "many"], Exit.USAGE, "valid integer"),
        (["up", "--workers", "0"], Exit.USAGE, "greater than or equal to 1"),
        (["pipeline", "check", "nowhere.toml"], Exit.NOT_FOUND, "nowhere.toml does not exist"),
        (["pipeline", "check", "."], Exit.USAGE, ". cannot be read: Is a directory"),
        (["submit", "."], Exit.USAGE, "is a directory"),
        (["run", "nonsense"], Exit.USAGE, "there is no mission nonsense; there are: reaper, dispatch"),
        (["status", "--state-dir", "nowhere"], Exit.UNREACHABLE, "start one with: mos up --detach"),
        (["submit", "nowhere.jpg"], Exit.NOT_FOUND, "nowhere.jpg"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str],
    code: Exit,
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(arguments) == code
    written = capsys.readouterr().err
    assert says in written
    assert "Traceback" not in written


def test_a_taken_port_is_said_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left behind, and the sentence names the port."""
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["up", "--prefect-port", str(port)]) == Exit.UNREACHABLE
    assert str(port) in capsys.readouterr().err


def test_debug_shows_the_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["--debug", "pipeline", "check", "."]) == Exit.USAGE
    assert "Traceback" in capsys.readouterr().err


def test_the_shipped_pipeline_passes_its_own_check(capsys: pytest.CaptureFixture[str]) -> None:
    shipped = Path(__file__).parent.parent.parent.parent / "pipeline.toml"
    assert run(["pipeline", "check", str(shipped)]) == Exit.OK
    assert "image_edit" in capsys.readouterr().out
