"""Race 18: a redrive of the dead letters resurrects old work."""

from __future__ import annotations

import pytest

from mos.domain.model import JobStatus, TaskStatus
from tests.integration.missions.conftest import Place, place, quiet

__all__ = ["place", "quiet"]


def dead_letter(place: Place) -> None:
    """The message of the first step comes to the dead letters: received three times, never acknowledged."""
    for _ in range(4):
        place.world.queues.receive("q-edit", max_messages=1, wait_seconds=0)
        place.world.runtime.sleep(301)
    place.world.queues.receive("q-edit", max_messages=1, wait_seconds=0)


def redrive(place: Place) -> None:
    """A person moves the dead letters back to the main queue."""
    client = place.world.sqs.client()
    url = client.get_queue_url(QueueName="q-edit")["QueueUrl"]
    for letter in place.world.sqs.peek("q-edit-dlq"):
        client.send_message(QueueUrl=url, MessageBody=letter.body)
    place.lose("q-edit-dlq")


@pytest.mark.parametrize(("fixed", "executions"), [(True, 1), (False, 2)])
def test_race_18_the_claim_refuses_old_work_and_the_depth_is_a_finding(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool, executions: int
) -> None:
    """Meanwhile the reaper had sent the task again, and it was completed. Without the refusal it runs once more."""
    if not fixed:
        monkeypatch.setattr("mos.domain.claims._stale", lambda *_: None)
        monkeypatch.setattr("mos.domain.laws.check_task", lambda *_: None)
    place.submit("j")
    dead_letter(place)
    assert len(place.queued("q-edit-dlq")) == 1
    place.reap()
    assert "DEAD_LETTERS:queues~q-edit-dlq" in place.findings()
    place.ticks(7)
    place.worker().poll()
    assert place.world.job("j").status is JobStatus.COMPLETED
    place.world.runtime.sleep(1000)
    redrive(place)
    place.worker().poll()
    task = place.world.task("j.s.edit")
    assert (task.status, task.executions) == (TaskStatus.COMPLETED, executions)
    assert place.queued() == []
    place.ticks(1)
    assert not place.findings()


@pytest.mark.parametrize("fixed", [True, False])
def test_race_18_dead_letters_are_seen_within_one_tick(
    place: Place, monkeypatch: pytest.MonkeyPatch, fixed: bool
) -> None:
    """L5. If nobody reads the depth, the letters lie there and nobody is told."""
    if not fixed:
        monkeypatch.setattr("mos.domain.reaping._dead_letters", lambda _: [])
    place.submit("j")
    dead_letter(place)
    place.reap()
    assert bool(place.findings()) is fixed
