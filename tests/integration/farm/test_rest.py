"""nexrender's REST interface row by row, through our client and raw: the table that recovery rests on."""

from datetime import datetime

import httpx
import pytest

from mos.clients.nexrender import Accepted, Kept, Nexrender, Refused, Removed
from mos.domain.errors import ValidationError
from mos.domain.rendering import Census, Known, Missing, UnknownAnswer
from mos.runtime import SystemRuntime

pytestmark = pytest.mark.xdist_group("farm")


@pytest.fixture
def raw(idle):
    """The server without our client in between."""
    with httpx.Client(base_url=f"{idle.url}/api/v1", headers={"nexrender-secret": idle.secret}) as client:
        yield client


@pytest.fixture
def client(idle, client_of):
    return client_of(idle)


@pytest.fixture
def stranger(idle):
    """A client with a wrong secret."""
    with Nexrender(idle.url, "wrong", runtime=SystemRuntime()) as client:
        yield client


def test_health_needs_no_secret(idle, stranger):
    assert httpx.get(f"{idle.url}/api/v1/health").text == "ok"
    assert stranger.health().ok


def test_a_wrong_secret_is_unknown_and_never_missing(stranger, uid, idle, tmp_path):
    assert isinstance(stranger.get(uid), UnknownAnswer)
    assert isinstance(stranger.census(), UnknownAnswer)
    refused = stranger.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    assert isinstance(refused, Refused)
    assert (refused.status, refused.retryable) == (403, True)


def test_a_missing_job_is_200_with_an_empty_body(raw, client, uid):
    answer = raw.get(f"/jobs/{uid}")
    assert (answer.status_code, answer.content) == (200, b"")
    assert client.get(uid) == Missing()


def test_a_missing_jobs_status_is_500(raw, uid):
    assert raw.get(f"/jobs/{uid}/status").status_code == 500


def test_a_known_job_comes_back_queued_with_its_uid_and_times(client, idle, uid, tmp_path):
    accepted = client.submit({**idle.job(uid, output=tmp_path / "out.mp4"), "state": "finished"})
    assert isinstance(accepted, Accepted)
    known = client.get(uid)
    assert isinstance(known, Known)
    assert (known.record.uid, known.record.state, known.record.executor) == (uid, "queued", None)
    assert isinstance(known.record.updated_at, datetime)
    assert not known.record.active


def test_delete_answers_removed_for_what_never_existed(raw, uid):
    answer = raw.delete(f"/jobs/{uid}")
    assert (answer.status_code, answer.json()) == (200, {"id": uid, "removed": True})


def test_a_uid_posted_twice_becomes_two_records_and_survives_a_delete(raw, client, idle, uid, tmp_path):
    """Why a POST is never repeated: here without a worker, which would render it for ever."""
    job = idle.job(uid, output=tmp_path / "out.mp4")
    assert raw.post("/jobs", json=job).status_code == raw.post("/jobs", json=job).status_code == 200
    assert sum(entry["uid"] == uid for entry in raw.get("/jobs").json()) == 2
    assert isinstance(client.remove(uid, only_in=frozenset({"queued"})), Kept)
    assert client.remove(uid, only_in=frozenset({"queued"})) == Removed()


def test_a_job_under_way_is_not_removed(client, raw, idle, uid, tmp_path):
    client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    raw.put(f"/jobs/{uid}", json={"state": "render:dorender"})
    assert client.remove(uid) == Kept("it is render:dorender")
    assert isinstance(client.get(uid), Known)


def test_an_ended_job_is_removed_and_looked_for(client, raw, idle, uid, tmp_path):
    client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    raw.put(f"/jobs/{uid}", json={"state": "finished"})
    assert client.remove(uid) == Removed()
    assert client.remove(uid) == Missing()


def test_pickup_changes_state_so_the_client_refuses_it_as_a_uid(raw, client, idle, uid, tmp_path):
    client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    for name in ("pickup", "status", "", "..", "a/b", "a?b", None):
        with pytest.raises(ValidationError):
            client.get(name)
    assert client.get(uid).record.state == "queued"
    while (picked := raw.get("/jobs/pickup").json()) and picked["uid"] != uid:
        pass
    assert client.get(uid).record.state == "picked"


def test_an_unknown_path_is_204(raw):
    assert raw.get("/nothing/here").status_code == 204


def test_bad_json_is_400(raw):
    answer = raw.post("/jobs", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.text) == (400, "Invalid JSON")


def test_an_invalid_job_is_refused_for_good(client, uid):
    refused = client.submit({"uid": uid, "template": {"src": ""}})
    assert isinstance(refused, Refused)
    assert (refused.status, refused.retryable) == (400, False)
    assert client.get(uid) == Missing()


def test_the_light_list_is_the_census(client, idle, uid, tmp_path):
    client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    census = client.census()
    assert isinstance(census, Census)
    assert census.records[uid].state == "queued"


def test_tags_are_kept_and_unknown_fields_too(raw, client, idle, uid, tmp_path):
    client.submit({**idle.job(uid, output=tmp_path / "out.mp4"), "tags": "a,b", "correlationId": "c-1"})
    assert raw.get(f"/jobs/{uid}").json()["correlationId"] == "c-1"


def test_errors_come_as_text_list_or_empty_object(client, raw, idle, uid, tmp_path):
    client.submit(idle.job(uid, output=tmp_path / "out.mp4"))
    for error, read in (
        (["Error: a", "Error: b"], ("Error: a", "Error: b")),
        ("Error: a\n\nError: b", ("Error: a", "Error: b")),
        ({}, ()),
        (None, ()),
    ):
        raw.put(f"/jobs/{uid}", json={"state": "error", "error": error})
        assert client.get(uid).record.errors == read


def test_the_server_listens_on_loopback_alone(idle):
    import psutil

    port = int(idle.url.rpartition(":")[2])
    listening = [c.laddr.ip for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port]
    assert listening == ["127.0.0.1"]
