"""A healthy tick reads the same number of documents however much is in flight (law 10)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mos.missions import base
from mos.store.documents import encode, path_of
from tests.builders import job, lease, task
from tests.crash.mission_scenes import mission_place
from tests.integration.missions.conftest import Place, quiet

__all__ = ["quiet"]

MOST = 12


def fill(place: Place, live: int) -> None:
    """So many tasks that run under live leases or wait with fresh messages, none of them due."""
    now, batch = place.world.now, place.world.look.batch()
    ends = now + timedelta(minutes=4)
    shared = {"job_id": "j", "step_type": "reap", "check_by": "reaper", "check_at": ends}
    for number in range(live):
        fields = {"id": f"t{number:06}", **shared}
        one = task("running", lease=lease(ends=ends), **fields) if number % 2 else task("queued", **fields)
        batch.set(place.world.look.document(path_of(one)), encode(one.fields()))
    one_job = job("processing", check_by="stalled-jobs", check_at=ends)
    batch.set(place.world.look.document("jobs/j"), encode(one_job.fields()))
    batch.commit()


def reads(live: int, mission: str) -> int:
    with mission_place() as place:
        fill(place, live)
        place.world.engine.meter.reset()
        report = base.run(place.reaper() if mission == "reaper" else place.dispatch())
        assert report.results == ()
        return place.world.engine.meter.of("mission").reads


@pytest.mark.parametrize("mission", ["reaper", "dispatch"])
def test_the_reads_of_a_healthy_tick_are_constant_and_few(mission: str) -> None:
    few, some, many = (reads(live, mission) for live in (0, 50, 480))
    assert few == some == many
    assert 0 < few <= MOST
