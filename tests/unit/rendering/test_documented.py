"""What a person can direct or meet stands in docs/render-farm.md or in a runbook."""

from __future__ import annotations

from pathlib import Path

import pytest

from mos.domain.findings import SEVERITY, FindingCode, Severity
from mos.local.farm.behaviour import VARIABLE, Act
from mos.local.farm.install import HOME_VARIABLE
from mos.local.farm.parts import SECRET_VARIABLE

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "render-farm.md").read_text()


@pytest.mark.parametrize("name", [*Act, VARIABLE, HOME_VARIABLE, SECRET_VARIABLE])
def test_every_act_and_variable_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in PAGE


def test_the_versions_are_those_of_the_lock_file() -> None:
    lock = (Path(__file__).parents[3] / "mos" / "local" / "farm" / "package.json").read_text()
    for package, version in (("server", "1.38.0"), ("core", "1.63.3")):
        assert f'"@nexrender/{package}": "{version}"' in lock
        assert f"`@nexrender/{package}` {version}" in PAGE


@pytest.mark.parametrize(
    ("code", "severity"),
    [(FindingCode.RENDER_STUCK, Severity.WARNING), (FindingCode.RENDER_STORE_LOST, Severity.CRITICAL)],
)
def test_findings_of_renders_have_their_severity_and_a_runbook(code: FindingCode, severity: Severity) -> None:
    assert SEVERITY[code] is severity
    assert (DOCS / "runbooks" / f"{code}.md").read_text().startswith(f"# {code}")
