"""Race 6: the drain-reset lands just after the completion, and finished work is queued again."""

import pytest

from mos.domain.model import TaskStatus


@pytest.mark.parametrize(("fixed", "status"), [(True, TaskStatus.COMPLETED), (False, TaskStatus.QUEUED)])
def test_race_06_a_late_drain_never_undoes_a_completion(world, actor, monkeypatch, fixed, status):
    """The reset is conditional on token and `running`. Without fence and transition table it re-opens the task."""
    if not fixed:
        monkeypatch.setattr("mos.workers.giving_up.fence", lambda *_, **__: None)
        monkeypatch.setattr("mos.domain.laws.check_task", lambda *_: None)
    world.submit("j", "chain", {"s": {"n": 1}})
    worker = actor()
    process = worker.process
    late = []

    def completing(site, do):
        answer = do()
        if site == "sqs.send_message" and not late:
            late.extend(process.flights.all())
        return answer

    world.io = completing
    worker.poll("edit")
    world.io = lambda _, do: do()
    (flight,) = late
    process.worker.ending.giving_up.release(flight, "a drain that comes too late", fresh_message=False)
    assert world.task("j.s.edit").status is status
