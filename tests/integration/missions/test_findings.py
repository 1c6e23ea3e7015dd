"""The one upsert of findings: identity, passes, closing, reopening, and what was left open by the dead."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from mos.domain.errors import StateStoreError
from mos.domain.findings import Finding, FindingCode, Sighting
from mos.local.firestore.injected import grpc_error
from mos.missions.rechecking import close_outdated
from mos.store import findings, queries
from mos.store.documents import read
from tests.crash.mission_scenes import claim, mission_place
from tests.integration.missions.conftest import Place, quiet

__all__ = ["quiet"]

DEAD = Sighting(FindingCode.DEAD_LETTERS, "queues/a-dlq", {"messages": 2})
DEAD_ID = "DEAD_LETTERS:queues~a-dlq"


@pytest.fixture
def place() -> Any:
    with mission_place() as entered:
        yield entered


def report(place: Place, *sightings: Sighting, run: str, complete: bool = True, seen_by: str = "m") -> int:
    return findings.report(
        place.mission_client, sightings, seen_by=seen_by, pass_id=run, now=place.world.now, complete=complete
    )


def stored(place: Place, name: str = DEAD_ID) -> Finding:
    found = read(Finding, place.world.look.collection("findings").document(name).get())
    assert found is not None
    return found


def test_the_same_trouble_is_the_same_document_with_its_first_and_last_time(place: Place) -> None:
    report(place, DEAD, run="1")
    began = place.world.now
    place.world.runtime.sleep(60)
    report(place, Sighting(FindingCode.DEAD_LETTERS, "queues/a-dlq", {"oldest": "x"}), run="2")
    found = stored(place)
    assert (found.first_seen, found.last_seen, found.occurrences) == (began, place.world.now, 2)
    assert found.evidence == {"oldest": "x"}, "evidence is replaced as a whole"
    assert (found.severity, found.subject, found.closed_at) == ("warning", "queues/a-dlq", None)


def test_saying_it_again_in_one_pass_counts_once(place: Place) -> None:
    """A lost answer, or a batch that was broken off and repeated, changes no number."""
    for _ in range(3):
        report(place, DEAD, run="1")
    assert stored(place).occurrences == 1


def test_a_complete_pass_closes_what_it_no_longer_sees_and_seeing_it_again_reopens(place: Place) -> None:
    report(place, DEAD, run="1")
    place.world.runtime.sleep(60)
    assert report(place, run="2") == 1
    assert stored(place).closed_at == place.world.now
    assert place.findings() == {}
    place.world.runtime.sleep(60)
    report(place, DEAD, run="3")
    found = stored(place)
    assert (found.closed_at, found.first_seen, found.occurrences) == (None, place.world.now, 2)


def test_a_pass_that_is_not_complete_closes_nothing(place: Place) -> None:
    report(place, DEAD, run="1")
    place.world.runtime.sleep(60)
    assert report(place, run="2", complete=False) == 0
    assert DEAD_ID in place.findings()


def test_a_pass_closes_only_its_own(place: Place) -> None:
    report(place, DEAD, run="1", seen_by="other")
    place.world.runtime.sleep(60)
    assert report(place, run="2") == 0
    assert DEAD_ID in place.findings()


def test_a_finding_is_held_until_somebody_looks_again(place: Place) -> None:
    until = place.world.now + timedelta(minutes=15)
    report(place, Sighting(FindingCode.BACKLOG, "queues/q", {}, until), run="1")
    place.world.runtime.sleep(899)
    assert report(place, run="2") == 0
    place.world.runtime.sleep(1)
    assert report(place, run="3") == 1


def test_an_older_run_does_not_close_what_a_newer_one_saw(place: Place) -> None:
    """Two runs overlap: the older one looked before there was anything to see."""
    before = place.world.now
    place.world.runtime.sleep(5)
    report(place, DEAD, run="newer")
    closed = findings.report(place.mission_client, [], seen_by="m", pass_id="older", now=before, complete=True)
    assert closed == 0
    assert DEAD_ID in place.findings()


def test_more_open_findings_than_a_page_are_all_closed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    small = queries.open_findings
    monkeypatch.setattr(findings, "open_findings", lambda seen_by: small(seen_by, limit=3))
    monkeypatch.setattr(findings, "BATCH", 4)
    report(place, *(Sighting(FindingCode.BACKLOG, f"queues/{n}") for n in range(10)), run="1")
    place.world.runtime.sleep(60)
    kept = Sighting(FindingCode.BACKLOG, "queues/4")
    assert report(place, kept, run="2") == 9
    assert set(place.findings()) == {"BACKLOG:queues~4"}


def test_a_dismissal_and_fields_of_others_survive(place: Place) -> None:
    report(place, DEAD, run="1")
    place.world.look.document(f"findings/{DEAD_ID}").update({"dismissed": {"by": "me", "why": "known"}, "owner": "ops"})
    report(place, DEAD, run="2")
    found = place.findings()[DEAD_ID]
    assert (found["dismissed"], found["owner"]) == ({"by": "me", "why": "known"}, "ops")


@pytest.mark.parametrize(
    "junk", [{}, {"occurrences": "many", "open": "yes", "firstSeen": 3, "until": 7, "lastSeen": []}]
)
def test_a_findings_document_that_makes_no_sense_is_written_anew_and_blocks_nothing(
    place: Place, junk: dict[str, Any]
) -> None:
    place.world.look.document(f"findings/{DEAD_ID}").set(junk)
    report(place, DEAD, Sighting(FindingCode.BACKLOG, "queues/q"), run="1")
    assert stored(place).occurrences == 1
    place.world.look.document("findings/odd").set(junk | {"seenBy": "m", "open": True})
    place.world.runtime.sleep(60)
    assert report(place, run="2") == 3


def test_a_store_that_refuses_is_an_error_of_the_store(place: Place) -> None:
    def refuse(site: str, do: Any) -> Any:
        if site == "firestore.Commit":
            raise grpc_error("PERMISSION_DENIED")
        return do()

    place.world.io = refuse
    with pytest.raises(StateStoreError, match="findings cannot be written"):
        report(place, DEAD, run="1")
    with pytest.raises(StateStoreError, match="cannot be closed"):
        findings.close(place.mission_client, [DEAD_ID], now=place.world.now)


def test_closing_what_is_not_there_is_nothing(place: Place) -> None:
    findings.close(place.mission_client, [DEAD_ID], now=place.world.now)
    assert place.world.documents("findings") == []


def long_running(place: Place, token: str) -> str:
    report(place, Sighting(FindingCode.LONG_RUNNING, "tasks/j.s.reap"), run=token, seen_by="worker", complete=False)
    return "LONG_RUNNING:tasks~j.s.reap"


def test_long_running_stays_open_while_the_step_runs_under_the_same_lease(place: Place) -> None:
    place.world.submit("j", "reap", {"s": {"n": 1}})
    claim(place.world, "j.s.reap")
    name = long_running(place, place.world.task("j.s.reap").lease.token)  # type: ignore[union-attr]
    place.ticks(3)
    assert name in place.findings()


def killed_and_reaped(place: Place) -> None:
    place.lose("q-reap")
    place.ticks(2)


def taken_over(place: Place) -> None:
    place.world.runtime.sleep(400)
    claim(place.world, "j.s.reap", owner="boot-b")


def gone(place: Place) -> None:
    place.world.look.document("tasks/j.s.reap").delete()


@pytest.mark.parametrize("ends", [killed_and_reaped, taken_over, gone])
def test_long_running_is_closed_by_the_reaper_when_its_worker_cannot(place: Place, ends: Any) -> None:
    """Its worker was killed before it could say that the step is over."""
    place.world.submit("j", "reap", {"s": {"n": 1}})
    claim(place.world, "j.s.reap")
    name = long_running(place, place.world.task("j.s.reap").lease.token)  # type: ignore[union-attr]
    ends(place)
    place.ticks(1)
    assert name not in place.findings()


@pytest.mark.parametrize(("collection", "whole"), [("tasks", True), ("jobs", True), ("workers", False)])
def test_a_record_that_a_worker_could_not_read_is_closed_when_it_was_mended(
    place: Place, collection: str, whole: bool
) -> None:
    place.world.submit("j", "reap", {"s": {"n": 1}})
    path = {"tasks": "tasks/j.s.reap", "jobs": "jobs/j", "workers": "workers/w"}[collection]
    good = place.world.look.document(path).get().to_dict()
    place.world.look.document(path).set({"status": 7})
    report(place, Sighting(FindingCode.UNREADABLE_RECORD, path), run="message", seen_by="worker", complete=False)
    close_outdated(place.mission_client, place.world.now)
    assert len(place.findings()) == 1
    if whole:
        place.world.look.document(path).set(good)
    else:
        place.world.look.document(path).delete()
    assert close_outdated(place.mission_client, place.world.now) == 1
    assert place.findings() == {}


@pytest.mark.parametrize("subject", ["", "tasks", "queues/q", "tasks/a/b/c", "nowhere/x"])
def test_a_finding_of_a_worker_whose_subject_nobody_knows_is_left_to_people(place: Place, subject: str) -> None:
    name = "LONG_RUNNING:odd"
    place.world.look.document(f"findings/{name}").set(
        {"seenBy": "worker", "open": True, "code": "LONG_RUNNING", "subject": subject}
    )
    assert close_outdated(place.mission_client, place.world.now) == 0
    assert name in place.findings()
