"""Writes `prefect.yaml` from the registry: `python -m deployments.generate`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deployments.registry import MISSIONS, Mission

ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
PREFECT_FILE = Path("prefect.yaml")
Pace = Callable[[Mission], timedelta]


def production(mission: Mission) -> timedelta:
    """The interval in production."""
    return mission.every


def demo(mission: Mission) -> timedelta:
    """The interval where minutes are seconds."""
    return mission.demo_every


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where runs are started: what its kind of work pool calls job variables."""

    file: Path
    job_variables: Mapping[str, object] = field(default_factory=dict)


RUN_ENVIRONMENT = {
    # Prefect's default of 180 s is too slow for the zombie automation, and 30 is its minimum.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
}
ENGINE_COMMAND = '"{{ $MISSION_PYTHON }}" -m prefect.engine'
"""Without a command of its own a process worker runs the pull steps in one process and the flow in a second one,
which doubles a run's cost of two CPU seconds."""
LOCAL = Target(file=PREFECT_FILE, job_variables={"command": ENGINE_COMMAND, "env": RUN_ENVIRONMENT})
TARGETS = (LOCAL,)

_HEAD = """\
# Generated from deployments/registry.py by `python -m deployments.generate`. Change it there.
# Deployed by `python -m deployments.apply`, which checks the variables first.
name: mos-self-healing

pull:
  - prefect.deployments.steps.set_working_directory:
      directory: "{{ $MISSION_DIR }}"

deployments:
"""

_DEPLOYMENT = """\
  - name: %(name)s
    entrypoint: %(entrypoint)s
    description: %(description)s
    version: "{{ $MISSION_VERSION }}"
    tags: %(tags)s
    parameters: %(parameters)s
    schedules:
      - interval: %(interval)s
        anchor_date: %(anchor)s
        slug: tick
        active: true
    concurrency_limit:
      limit: 1
      collision_strategy: CANCEL_NEW
      grace_period_seconds: %(grace)s
    work_pool:
      name: "{{ $MISSION_POOL }}"
      work_queue_name: default
      job_variables: %(job_variables)s
"""


def render(missions: Iterable[Mission], target: Target = LOCAL, *, pace: Pace = production) -> str:
    """The deployment file of these missions for one kind of work pool."""
    return _HEAD + "".join(_deployment(mission, target, pace(mission)) for mission in missions)


def _deployment(mission: Mission, target: Target, interval: timedelta) -> str:
    values = {
        "name": mission.name,
        "entrypoint": mission.entrypoint,
        "description": mission.description,
        "tags": [*mission.tags, "env:{{ $MISSION_ENV }}"],
        "parameters": dict(mission.parameters),
        "interval": int(interval.total_seconds()),
        "anchor": (ANCHOR + mission.stagger).isoformat(),
        "grace": int(mission.grace.total_seconds()),
        "job_variables": dict(target.job_variables),
    }
    # JSON is YAML: quoting is never a question.
    return _DEPLOYMENT % {name: json.dumps(value) for name, value in values.items()}


def main() -> None:
    """Write every target's file into the current directory."""
    for target in TARGETS:
        target.file.write_text(render(MISSIONS, target), encoding="utf-8")


if __name__ == "__main__":
    main()
