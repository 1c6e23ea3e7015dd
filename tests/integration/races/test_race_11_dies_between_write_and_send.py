"""Race 11: a mission dies between its write and its send. One order burns a reap, the other overwrites work."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.model import Send, SendState, TaskStatus
from mos.local.simulation.crashes import CrashPoint, Side
from mos.missions import reaper_acts
from tests.crash.mission_scenes import claim, crash, messages, mission_place
from tests.integration.missions.conftest import Place, quiet

__all__ = ["quiet"]


def without_outbox(act: Any) -> Any:
    """The obvious rule: the reset says that it is sent, and the send follows."""

    def reset(self: Any, reader: Any, wanted: Any) -> Any:
        commit, after = act(self, reader, wanted)
        (change,) = commit.tasks
        sent = change.after.replace(send=Send(state=SendState.SENT, at=reader.now))
        return type(commit)(commit.by, commit.act, "", (type(change)(change.before, sent, change.reason),)), after

    return reset


def orphan(place: Place) -> None:
    place.world.submit("j", "reap", {"s": {"n": 1}})
    claim(place.world, "j.s.reap")
    place.lose("q-reap")
    place.world.runtime.sleep(600)


def first_send() -> int:
    """The number of the call that sends the reaped task's message."""
    with mission_place() as place:
        orphan(place)
        counting = CrashPoint()
        crash(place, place.reaper(), counting)
        return counting.sites.index("sqs.send_message") + 1


@pytest.mark.parametrize("fixed", [True, False])
def test_race_11_the_next_tick_sends_what_the_last_one_only_wrote(fixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`send: unsent` stands in the reaping commit. Without it the message is missing for a whole pickup time."""
    at = first_send()
    if not fixed:
        monkeypatch.setattr(reaper_acts.ReaperActs, "_back", without_outbox(reaper_acts.ReaperActs._back))
    with mission_place() as place:
        orphan(place)
        crash(place, place.reaper(), CrashPoint(at, Side.BEFORE))
        assert place.world.task("j.s.reap").status is TaskStatus.QUEUED
        place.ticks(1)
        task = place.world.task("j.s.reap")
        assert (messages(place) == {("j.s.reap", 1): 1}) is fixed
        assert (task.attempt, task.reap_count, task.resends) == (1, 1, 0)


def test_race_11_work_that_finished_before_the_write_is_not_overwritten() -> None:
    """The write comes first and is fenced: nothing is sent for what was overtaken."""
    with mission_place() as place:
        orphan(place)
        mission = place.reaper()
        plan = mission.decide(mission.observe())
        place.world.patch("j.s.reap", status="completed", lease=None, checkBy=None)
        (result,) = mission.act(plan)
        assert result.outcome == "overtaken"
        assert not messages(place)
        assert place.world.task("j.s.reap").status is TaskStatus.COMPLETED
