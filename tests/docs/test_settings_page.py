"""Every setting is documented as it is."""

from __future__ import annotations

from pathlib import Path

from mos.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def row(name: str) -> str:
    field = Settings.model_fields[name]
    default = "" if field.default in {None, ""} else f"`{field.default}`"
    return f"| `{field.alias}` | {default} | {field.description} |"


def test_the_table_has_one_row_per_setting_and_no_other() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert rows == [row(name) for name in Settings.model_fields]
