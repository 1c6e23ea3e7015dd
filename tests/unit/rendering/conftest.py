"""A render that the farm has had for half an hour, and everything that could be known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mos.domain.model import Render, RenderAttempt, Task
from mos.domain.rendering import (
    Census,
    FarmRecord,
    HostLoss,
    Known,
    Missing,
    Output,
    OutputSeen,
    RenderAct,
    RenderEvidence,
    RenderLimits,
    StoreSeen,
    decide_render,
)
from mos.domain.staleness import QueueState
from tests.builders import NOW, ago, policy, task

UID = "u1"
EMPTY = QueueState("mos-render-poll", ((0, 3), (0, 3)), None, None)


def a_render(**fields: Any) -> Render:
    """Submitted 30 min ago, missing and unanswered for 10, polled just now."""
    given: dict[str, Any] = {
        "uid": UID,
        "executor": "i-1",
        "submitted_at": ago(minutes=30),
        "poll_generation": 7,
        "last_polled_at": ago(seconds=30),
        "missing_since": ago(minutes=10),
        "attempts": [RenderAttempt(uid=UID, submitted_at=ago(minutes=30))],
    }
    return Render(**(given | fields))


def a_task(render: Render | None = None, **fields: Any) -> Task:
    """The render task of job j, running under no lease: the farm has it."""
    given: dict[str, Any] = {
        "id": "j.render", "shot_id": None, "step_type": "render", "lease": None, "render": render or a_render(),
    }  # fmt: skip
    return task("running", **(given | fields))


def a_record(state: str = "render:dorender", **fields: Any) -> FarmRecord:
    given: dict[str, Any] = {"uid": UID, "state": state, "executor": "i-1", "updated_at": ago(minutes=2)}
    return FarmRecord(**(given | fields))


def other_jobs(*uids: str) -> Census:
    """The farm's list with other jobs than ours."""
    return Census({uid: FarmRecord(uid=uid, state="queued") for uid in uids})


def everything(**known: Any) -> RenderEvidence:
    """All evidence for a corroborated loss; `known` overrides."""
    given: dict[str, Any] = {
        "answers": {UID: Missing()},
        "outputs": {UID: OutputSeen(Output.ABSENT)},
        "store": StoreSeen(healthy=True, census=other_jobs("u2", "u3"), active=frozenset({UID, "u2", "u3"})),
        "queues": {"mos-render-poll": EMPTY},
    }
    return RenderEvidence(**(given | known))


def decided(found: Task, evidence: RenderEvidence, **options: Any) -> RenderAct:
    given: dict[str, Any] = {"now": NOW, "limits": RenderLimits(), "policy": policy()}
    act = decide_render(found, evidence, **(given | options))
    assert act is not None
    return act


@pytest.fixture
def make() -> Any:
    """The builders of this folder."""

    class Make:
        render = staticmethod(a_render)
        task = staticmethod(a_task)
        record = staticmethod(a_record)
        evidence = staticmethod(everything)
        others = staticmethod(other_jobs)
        decide: Callable[..., RenderAct] = staticmethod(decided)

        @staticmethod
        def knows(state: str = "render:dorender", **fields: Any) -> dict[str, Any]:
            return {"answers": {UID: Known(a_record(state, **fields))}}

        @staticmethod
        def lost_host(what: str = "restarted", **delta: float) -> dict[str, Any]:
            return {"hosts": {"i-1": HostLoss(ago(**delta), what)}}

    return Make
