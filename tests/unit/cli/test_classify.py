"""`mos classify` reads text or JSON lines and prints class, rule and evidence."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer

from mos.cli.classify import COMMANDS
from mos.cli.exits import CommandError, Exit


def _run(*arguments: str) -> int:
    app = typer.Typer()
    app.callback()(lambda: None)
    for command in COMMANDS:
        app.command()(command)
    outcome = app(["classify", *arguments], standalone_mode=False)
    return outcome if isinstance(outcome, int) else 0


def _pipe(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_a_text_from_standard_input_is_classified_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pipe(monkeypatch, b"Error: ENOSPC: no space left on device, write\n    at writeAll (node:fs:500:3)\n")
    assert _run() == Exit.OK
    printed = capsys.readouterr().out
    assert printed.startswith("infrastructure  (may be tried again)  ")
    assert printed.count("\n") == 1


def test_json_lines_give_one_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        {"text": "read ECONNRESET", "context": {"step": "template_transfer", "template_state": "missing"}},
        {"text": "HTTP 503", "context": {"step": "video_generate"}},
        {"error": {"status": 402}, "context": None},
    ]
    file = tmp_path / "errors.jsonl"
    file.write_text("\n".join(json.dumps(case) for case in cases), encoding="utf-8")
    assert _run(str(file), "--json") == Exit.OK
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [f["class"] for f in found] == ["template_unavailable", "provider_timeout", "provider_rejection"]
    assert [f["retryable"] for f in found] == [False, True, False]
    assert all(set(f) == {"class", "retryable", "rule", "evidence"} for f in found)


def test_a_providers_json_answer_is_one_error_not_a_case(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pipe(monkeypatch, b'{"error": {"code": "insufficient_quota"}}')
    _run("--json")
    assert json.loads(capsys.readouterr().out)["class"] == "provider_rejection"


def test_options_name_the_place_where_the_input_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pipe(monkeypatch, b"ETIMEDOUT")
    _run("--json", "--step", "template_transfer", "--template-state", "unpublished")
    assert json.loads(capsys.readouterr().out)["class"] == "template_unavailable"


def test_mark_up_of_the_terminal_in_a_text_is_printed_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pipe(monkeypatch, b"[red]disk full[/red] [/nonsense]")
    assert _run() == Exit.OK
    assert "disk full" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_nothing_to_classify_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    _pipe(monkeypatch, content)
    with pytest.raises(CommandError, match="there is no text to classify") as raised:
        _run()
    assert raised.value.exit_code == Exit.USAGE


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read") as raised:
        _run(str(tmp_path / "none"))
    assert raised.value.exit_code == Exit.NOT_FOUND


def test_bytes_that_are_no_text_are_classified_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pipe(monkeypatch, b"\xff\xfe disk full \x00")
    _run("--json")
    assert json.loads(capsys.readouterr().out)["class"] == "infrastructure"
