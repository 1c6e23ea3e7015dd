"""Race 8: a failed task's message comes back, and the failed task runs again."""

import pytest

from mos.domain.model import TaskStatus


@pytest.mark.parametrize(("fixed", "status"), [(True, TaskStatus.FAILED), (False, TaskStatus.COMPLETED)])
def test_race_08_a_claim_refuses_terminal_tasks_and_deletes(world, actor, monkeypatch, fixed, status):
    """Without the refusal (and the transition table) the failed task is claimed and completed."""
    if not fixed:
        monkeypatch.setattr("mos.domain.claims._stale", lambda *_: None)
        monkeypatch.setattr("mos.domain.laws.check_task", lambda *_: None)
    world.submit("j", "chain", {"s": {"n": 1}})
    world.patch("j.s.edit", status="failed")
    world.runtime.sleep(800)  # past every lease and time-to-live
    actor().poll("edit")
    assert world.task("j.s.edit").status is status
    assert world.sqs.peek("q-edit") == []
