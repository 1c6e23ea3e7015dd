"""The labelled messages: those collected from public reports, and further ones in their kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


COLLECTED = rows("errors.jsonl")
FURTHER = rows("errors_further.jsonl")
ALL = [*COLLECTED, *FURTHER]
