"""Race 15: the hosts' clocks are minutes apart, and a live lease looks ended."""

from datetime import timedelta

import pytest

from mos.local.simulation.actor import writes
from mos.store.gateway import Reader


@pytest.mark.parametrize("skew", [timedelta(minutes=-5), timedelta(minutes=5)], ids=["slow", "fast"])
@pytest.mark.parametrize("fixed", [True, False])
def test_race_15_only_the_stores_clock_decides_about_a_lease(world, actor, monkeypatch, fixed, skew):
    """`now` is the read time. With the hosts' own clocks leases are too long, or taken while they live."""
    hosts = {"first": -skew, "second": skew}
    turn = ["first"]
    if not fixed:
        monkeypatch.setattr(Reader, "now", property(lambda _: world.now + hosts[turn[0]]))
    world.submit("j", "chain", {"s": {"n": 1}})
    ran = []
    second = actor(edit=writes(b"second", lambda _: ran.append("second")))

    def works(_):
        ran.append("first")
        lengths.append(world.task("j.s.edit").lease.expires_at - world.now)
        world.send([world.task("j.s.edit")])
        turn[0] = "second"
        second.poll("edit")
        turn[0] = "first"

    lengths: list[timedelta] = []
    actor(edit=writes(b"first", works)).poll("edit")
    as_declared = abs(lengths[0] - timedelta(seconds=285)) < timedelta(seconds=1)
    assert (as_declared and ran == ["first"]) is fixed
