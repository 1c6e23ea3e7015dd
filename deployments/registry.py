"""The one list of missions. A new mission is a new row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True, kw_only=True)
class Mission:
    """One row: what is deployed, how often, and with which parameters.

    `stagger` moves the schedule's anchor, so that missions of one interval do
    not start at the same second: each start costs two seconds of CPU.
    `grace` is how long a run may stay Pending with the slot in its hands.
    """

    name: str
    entrypoint: str
    description: str
    every: timedelta
    demo_every: timedelta
    stagger: timedelta = timedelta(0)
    grace: timedelta = timedelta(seconds=60)
    tags: tuple[str, ...] = ("mission",)
    parameters: Mapping[str, bool | int | str] = field(default_factory=dict)


MISSIONS: tuple[Mission, ...] = (
    Mission(
        name="reaper",
        entrypoint="flows/reaper.py:reaper",
        description="Sends lost tasks again: those whose lease ran out, whose message is gone, or was never sent.",
        every=timedelta(seconds=300),
        demo_every=timedelta(seconds=20),
        parameters={"dry_run": False, "max_acts": 50},
    ),
    Mission(
        name="dispatch",
        entrypoint="flows/dispatch.py:dispatch",
        description="Starts pending jobs as slots become free, oldest first; obeys config/production.paused.",
        every=timedelta(seconds=60),
        demo_every=timedelta(seconds=20),
        stagger=timedelta(seconds=10),
        parameters={"dry_run": False, "max_starts": 50},
    ),
)
