"""`why` and `timeline` on real documents and queues."""

from __future__ import annotations

import pytest

from mos.clients.sqs import Queues
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.missions.explain import NoSuchJob, explain_job, job_timeline
from tests.integration.missions.conftest import Place, place, quiet

__all__ = ["place", "quiet"]


def why(place: Place, job: str = "j") -> tuple[str, int | None]:
    answer = explain_job(place.world.look, Queues(place.world.sqs.client()), place.world.policy, job)
    return answer.state, answer.rung


def test_a_killed_worker_is_explained_by_its_queue(place: Place) -> None:
    """While the message is hidden or back, a takeover comes; without a message, the reaper does."""
    place.submit("j")
    place.claim_and_die()
    place.world.runtime.sleep(400)
    assert why(place)[1] == 2
    place.lose()
    state, rung = why(place)
    assert rung == 3
    assert "its queue is empty" in state


def test_a_queue_that_does_not_answer_makes_the_answer_vaguer(place: Place) -> None:
    place.submit("j")
    place.world.runtime.sleep(7200)
    place.world.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.OTHER, times=None))
    assert "past its pickup time" in why(place)[0]


@pytest.mark.parametrize("name", ["nobody", "a/b", "", "../jobs"])
def test_a_job_that_is_not_there_is_said_so(place: Place, name: str) -> None:
    with pytest.raises(NoSuchJob, match="job"):
        why(place, name)


def test_the_timeline_tells_the_jobs_whole_life_and_nobody_elses(place: Place) -> None:
    place.submit("j", "other")
    place.claim_and_die()
    place.claim_and_die()
    place.lose()
    place.ticks(2)
    place.worker().poll()
    rows = job_timeline(place.world.look, "j")
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert {row["subject"] for row in rows} == {"jobs/j", "tasks/j.s.edit"}
    task = [(row["by"], row["change"]) for row in rows if row["subject"] == "tasks/j.s.edit"]
    assert task[0] == ("producer", "new → pending")
    assert ("reaper", "running → queued") in task
    assert task[-1] == ("worker", "running → completed")


def test_errors_stand_in_the_timeline(place: Place) -> None:
    place.submit("j")
    place.ticks(40, place.lose)
    rows = [row for row in job_timeline(place.world.look, "j") if row["act"] == "error"]
    assert len(rows) == 1
    assert "stranded_pipeline" in rows[0]["why"]
