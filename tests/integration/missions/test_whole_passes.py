"""What a tick may conclude from what it saw, and what it asks only when something is suspicious."""

from __future__ import annotations

from typing import Any

import pytest

from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.simulation.jobs import start_job
from tests.crash.mission_scenes import POLICY, claim, mission_place
from tests.integration.missions.conftest import TICK, Place, quiet

__all__ = ["quiet"]

OPEN = "DEAD_LETTERS:queues~old-dlq"


@pytest.fixture
def place() -> Any:
    with mission_place() as entered:
        fields = {"code": "DEAD_LETTERS", "subject": "queues/old-dlq", "seenBy": "reaper", "open": True}
        entered.world.look.document(f"findings/{OPEN}").set(fields)
        yield entered


def orphans(place: Place, *jobs: str) -> None:
    for job in jobs:
        place.world.submit(job, "reap", {"s": {"n": 1}})
        claim(place.world, f"{job}.s.reap")
    place.lose("q-reap")
    place.world.runtime.sleep(2 * TICK)


def test_a_whole_pass_closes_what_it_does_not_see(place: Place) -> None:
    place.reap()
    assert OPEN not in place.findings()


def test_a_page_that_is_full_is_not_everything_and_closes_nothing(place: Place) -> None:
    orphans(place, "a", "b", "c")
    report = place.reap(page=2)
    assert len(report.results) == 2
    assert OPEN in place.findings()


def test_a_page_is_never_overfilled_by_the_pages_behind_what_cannot_be_read(place: Place) -> None:
    orphans(place, "a", "b", "c", "d")
    fields = {"status": "running", "checkBy": "reaper", "checkAt": place.world.now.replace(year=2020)}
    place.world.look.document("tasks/bad").set(fields)
    assert len(place.reap(page=3).results) == 3
    assert OPEN in place.findings()


def test_acts_that_wait_for_the_next_tick_close_nothing(place: Place) -> None:
    orphans(place, "a", "b")
    place.reap(max_acts=1)
    assert OPEN in place.findings()


def test_a_failed_pass_closes_nothing(place: Place) -> None:
    fault = Fault(kind=Kind.UNAVAILABLE, operation=Operation.OTHER, queue="q-late-dlq", times=None)
    place.world.faults.add(fault)
    place.reap()
    assert OPEN in place.findings()


def test_work_whose_outbox_alone_is_late_asks_neither_its_queue_nor_for_workers(place: Place) -> None:
    start_job(place.world.gateway, POLICY, "j", "unsent", {"s": {}})
    place.world.runtime.sleep(TICK)
    asked: list[str] = []
    mission = place.reaper()
    place.world.io = lambda site, do: (asked.append(site), do())[1]
    mission.observe()
    assert sum(site == "firestore.RunQuery" for site in asked) == 2, "what runs and what is queued, nothing more"


def test_an_owner_that_lives_is_not_stopped_and_an_odd_one_hides_no_other(place: Place) -> None:
    now = place.world.now
    for job, owner in (("a", "alive"), ("b", "stopped"), ("c", "odd")):
        place.world.submit(job, "reap", {"s": {"n": 1}})
        claim(place.world, f"{job}.s.reap", owner=owner)
        place.world.patch(f"{job}.s.reap", checkAt=now)
    place.lose("q-reap")
    place.world.patch("c.s.reap", **{"lease.owner": "a/b"})
    place.world.look.document("workers/alive").set({"startedAt": now, "heartbeatAt": now})
    place.world.look.document("workers/stopped").set({"startedAt": now, "heartbeatAt": now, "stoppedAt": now})
    report = place.reap()
    assert report.failed_passes == ()
    assert {result.subject: result.kind for result in report.results} == {
        "a.s.reap": "leave",
        "b.s.reap": "reap",
        "c.s.reap": "leave",
    }


def test_an_owners_record_that_cannot_be_read_fails_no_pass(place: Place) -> None:
    orphans(place, "a")
    place.world.look.document("workers/boot-a").set({"stoppedAt": "yes"})
    assert place.reap().failed_passes == ()


def test_messages_that_are_only_delayed_are_not_lost(place: Place) -> None:
    """Visible 0 and delayed 1: the queue is not empty."""
    place.world.submit("j", "resend", {"s": {}})
    body = place.queued("q-resend")[0]
    place.lose("q-resend")
    place.world.runtime.sleep(1801)
    place.world.queues.send("q-resend", body, attributes={}, delay_seconds=900)
    assert [result.kind for result in place.reap().results] == ["leave"]


def test_one_reading_of_an_empty_queue_proves_nothing(place: Place) -> None:
    orphans(place, "j")
    answers: list[str] = []

    def once(site: str, do: Any) -> Any:
        if site == "sqs.get_queue_attributes":
            answers.append(site)
            if len(answers) > 1 and len(answers) < 5:
                raise ConnectionError("no route")
        return do()

    place.world.io = once
    report = place.reap()
    place.world.io = lambda _, do: do()
    assert place.world.task("j.s.reap").reap_count == 0, report


def test_a_task_that_was_queued_again_after_its_claim_tells_nothing_of_the_queue(place: Place) -> None:
    """Its `queuedAt` is newer than any claim: nobody has overtaken anybody."""
    for job in ("old", "again"):
        place.world.submit(job, "resend", {"s": {}})
    start = place.world.now
    place.world.runtime.sleep(7200)
    place.world.patch("again.s.resend", startedAt=start, queuedAt=place.world.now, executions=1)
    kinds = {result.subject: result.kind for result in place.reap().results}
    assert kinds["old.s.resend"] == "leave"
