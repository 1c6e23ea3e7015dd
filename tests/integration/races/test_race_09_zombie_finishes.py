"""Race 9: a zombie finishes after it was replaced."""

import pytest

from mos.local.simulation.actor import writes
from mos.workers.work import Work


@pytest.mark.parametrize(("fixed", "stands"), [(True, b"new"), (False, b"zombie")])
def test_race_09_the_late_result_of_a_replaced_worker_changes_nothing(world, actor, monkeypatch, fixed, stands):
    """The completion is fenced by the lease token. Without fence and table the zombie's result overwrites the other."""
    if not fixed:
        monkeypatch.setattr("mos.workers.completing.fence", lambda *_, **__: None)
        monkeypatch.setattr("mos.domain.laws.check_task", lambda *_: None)
        monkeypatch.setattr(Work, "record", lambda _self, _task, output: output.key)
    world.submit("j", "chain", {"s": {"n": 1}})

    def frozen(_):
        world.runtime.sleep(400)  # no heartbeat: lease and window end
        actor(edit=writes(b"new")).poll("edit")

    actor(edit=writes(b"zombie", frozen)).poll("edit")
    task = world.task("j.s.edit")
    assert task.reap_count == 1
    assert world.objects.get(task.output_key) == stands
