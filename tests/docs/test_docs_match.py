"""What the docs say is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from mos.cli.app import app
from mos.domain.findings import SEVERITY, FindingCode

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"


def commands() -> list[str]:
    """Every command and sub-command of the command line."""
    tree = typer.main.get_command(app)
    found: list[str] = []
    for name, command in tree.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found += [f"{name} {sub}" for sub in inner] if inner and name == "pipeline" else [name]
    return found


@pytest.mark.parametrize("command", commands())
def test_every_command_stands_in_the_command_page(command: str) -> None:
    """docs/cli.md has a row for each command."""
    assert f"| `mos {command}` |" in (DOCS / "cli.md").read_text("utf-8")


def test_no_documented_command_is_missing() -> None:
    """And no row for a command that is not there."""
    documented = set(re.findall(r"^\| `mos ([a-z ]+)` \|", (DOCS / "cli.md").read_text("utf-8"), re.MULTILINE))
    assert documented == set(commands())


@pytest.mark.parametrize("command", commands())
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    """--help has an example that starts with the command itself."""
    tree = typer.main.get_command(app)
    for part in command.split():
        tree = tree.commands[part]  # type: ignore[attr-defined]
    text = " ".join((tree.help or "").split())
    assert "Example: mos" in text or getattr(tree, "commands", None), text


@pytest.mark.parametrize("code", FindingCode)
def test_every_finding_code_has_a_runbook(code: FindingCode) -> None:
    """docs/runbooks/CODE.md exists, and the index names it with its severity."""
    assert (DOCS / "runbooks" / f"{code}.md").read_text("utf-8").startswith(f"# {code}")
    assert f"| [{code}]({code}.md) | {SEVERITY[code]} |" in (DOCS / "runbooks" / "README.md").read_text("utf-8")


def test_every_finding_code_has_a_severity() -> None:
    """The table is total."""
    assert set(SEVERITY) == set(FindingCode)


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")]), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of every page point to files that exist."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_two_commands_of_the_readme_are_make_targets(target: str) -> None:
    """README says `make demo` and `make test`."""
    assert f"make {target} " in (ROOT / "README.md").read_text("utf-8")
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_ci_runs_the_readmes_test_command() -> None:
    """.ci/run ends with `make test`."""
    assert (ROOT / ".ci" / "run").read_text("utf-8").rstrip().endswith("make test")
