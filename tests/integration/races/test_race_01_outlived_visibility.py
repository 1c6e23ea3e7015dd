"""Race 1: a task outlives the visibility timeout, and a second worker gets its message."""

import pytest

from mos.domain.claims import OwnerState, decide_claim
from mos.local.simulation.actor import writes


@pytest.mark.parametrize(("fixed", "runs"), [(True, 1), (False, 2)])
def test_race_01_a_second_delivery_never_starts_a_second_run(world, actor, monkeypatch, fixed, runs):
    """The claim is a compare-and-set against a live lease. Without it, both workers run the task."""
    if not fixed:
        monkeypatch.setattr(
            "mos.workers.claiming.decide_claim",
            lambda *given, **named: decide_claim(*given, **{**named, "owner_state": OwnerState.STOPPED}),
        )
    world.submit("j", "chain", {"s": {"n": 1}})
    ran = []
    second = actor(edit=writes(b"second", lambda _: ran.append("second")))

    def outlives(_):
        ran.append("first")
        world.send([world.task("j.s.edit")])  # the same message once more, as after the end of its window
        world.runtime.sleep(250)
        second.poll("edit")

    first = actor(edit=writes(b"first", outlives))
    beating = first.beating()
    first.poll("edit")
    beating.cancel()
    assert len(ran) == runs
    assert (world.task("j.s.edit").executions == 1) is fixed
