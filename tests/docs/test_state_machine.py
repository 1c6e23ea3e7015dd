"""The page of states is what the tables say."""

from __future__ import annotations

from pathlib import Path

from mos.domain.transitions import diagram

PAGE = Path(__file__).parents[2] / "docs" / "state-machine.md"


def test_the_diagrams_are_generated_from_the_tables() -> None:
    text = PAGE.read_text("utf-8")
    assert text[text.index("```mermaid") :] == diagram() + "\n"
