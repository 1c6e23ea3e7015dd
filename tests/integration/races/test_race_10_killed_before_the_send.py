"""Race 10: a kill between "completed" and "send next", and the chain ends in silence."""

import dataclasses

import pytest

from mos.domain.completion import decide_completion
from mos.domain.model import JobStatus, TaskStatus
from mos.local.simulation.crashes import Crashed
from mos.local.simulation.world import plain


def without_outbox(*given, **named):
    """The obvious rule: the completion alone; the successor is queued when it is sent."""
    whole = decide_completion(*given, **named)
    return dataclasses.replace(whole, commit=dataclasses.replace(whole.commit, tasks=whole.commit.tasks[:1]), queued=())


@pytest.mark.parametrize(("fixed", "ends_as"), [(True, JobStatus.COMPLETED), (False, JobStatus.PROCESSING)])
def test_race_10_the_successor_is_queued_by_the_completing_commit(world, actor, monkeypatch, fixed, ends_as):
    """Successor and unsent mark are in the same commit. Without that, a kill there leaves nobody to send it."""
    if not fixed:
        monkeypatch.setattr("mos.workers.completing.decide_completion", without_outbox)
    world.submit("j", "chain", {"s": {"n": 1}})
    dead = []

    def killed_after_the_completion(site, do):
        if dead:
            raise Crashed(site)
        answer = do()
        if site == "firestore.Commit" and world.task("j.s.edit").status is TaskStatus.COMPLETED:
            dead.append(site)
            raise Crashed(site)
        return answer

    world.io = killed_after_the_completion
    with pytest.raises(Crashed):
        actor().poll("edit")
    world.io = plain
    for _ in range(5):
        world.runtime.sleep(301)
        world.send_unsent()
        actor().poll()
    assert world.job("j").status is ends_as
