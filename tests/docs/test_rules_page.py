"""docs/rules.md names files and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mos.domain.invariants import CHECKS

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "rules.md").read_text("utf-8")
TESTS = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:mos|tasks|flows)/[\w/]+\.py)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), TESTS, ids=lambda value: value.rsplit("/", 1)[-1])
def test_every_test_that_the_page_names_exists(path: str, name: str) -> None:
    file = ROOT / "tests" / path
    assert file.is_file(), f"tests/{path} does not exist"
    assert re.search(rf"^(?:async )?def {name}\(", file.read_text("utf-8"), re.MULTILINE), f"no {name} in tests/{path}"


@pytest.mark.parametrize("path", FILES)
def test_every_file_that_the_page_names_exists(path: str) -> None:
    assert (ROOT / path).is_file()


def test_every_row_names_a_place_and_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "the test that goes red" not in line]
    assert len(rows) > len(CHECKS)
    for row in rows:
        assert re.search(r"\| `(?:mos|tasks|flows)/[^|]+\| `[^|]+::[^|]+\|$", row), row


def test_every_law_stands_on_the_page() -> None:
    for law in range(1, 13):
        assert re.search(rf"^(?:\| {law}\.|Law {law} )", PAGE, re.MULTILINE), f"law {law}"
