"""The one write gateway: what it adds, what it keeps, what it refuses whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mos.domain.changes import Commit, JobChange, NewDocument, TaskChange
from mos.domain.completion import decide_completion
from mos.domain.dispatching import decide_cancellation, decide_start
from mos.domain.ending import decide_end
from mos.domain.errors import LawViolation, PipelineStateError, ValidationError
from mos.domain.jobs import JobRequest, decide_creation
from mos.domain.model import Job, SendState, Task, TaskStatus
from mos.domain.transitions import By
from mos.store.documents import UnreadableRecord
from mos.store.outbox import mark_sent
from mos.store.queries import queued_of_job, tasks_of_job
from tests.builders import NOW, error, incident, job, lease, policy, task
from tests.integration.store.conftest import Store

ID = "j.s1.upscale"
PATH = f"tasks/{ID}"


def start(store: Store, **fields: Any) -> Any:
    given = {"status": "running", "lease": lease(ends=NOW), "executions": 1} | fields
    return store.change(Task, ID, By.WORKER, **given)


def test_a_change_writes_its_fields_its_driver_its_token_and_one_log_entry(store: Store) -> None:
    store.put(task("queued"), job())
    done = start(store)
    stored = store.raw(PATH)
    assert (stored["status"], stored["executions"], stored["lease"]["token"]) == ("running", 1, "token-a")
    assert (stored["checkBy"], stored["checkAt"]) == ("reaper", NOW + timedelta(seconds=120))
    assert (stored["opToken"], done.changed) == (done.token, True)
    (entry,) = store.log()
    assert (entry["by"], entry["actor"], entry["act"], entry["correlationId"]) == ("worker", "test", "test", "c")
    assert entry["expireAt"] - entry["at"] == timedelta(days=90)
    (line,) = entry["changes"]
    assert line == {
        "path": PATH,
        "before": "queued",
        "after": "running",
        "reason": "test",
        "stepType": "upscale",
        "attempt": 0,
        "reapCount": 0,
        "failures": 0,
        "executions": 1,
        "leaseToken": "token-a",
    }


def test_the_log_entry_is_named_by_the_operations_token(store: Store) -> None:
    store.put(task("queued"), job())
    token = start(store).token
    assert store.raw(f"recoveryLog/{token}")["try"] == 1


def test_stamps_are_the_stores_time_whatever_the_host_thinks(store: Store) -> None:
    """Law 8: the virtual store's clock stands in 2026-03-01, this host's does not."""
    store.put(task("queued"), job())
    start(store)
    assert abs(store.raw(PATH)["updatedAt"] - store.runtime.server_time()) < timedelta(seconds=5)
    assert abs(store.log()[0]["at"] - store.runtime.server_time()) < timedelta(seconds=5)


def test_fields_that_we_do_not_know_are_kept(store: Store) -> None:
    store.put(task("queued"), job(), colour="teal", nested={"deep": [1, {"a": None}]}, outputKey=None)
    start(store)
    stored = store.raw(PATH)
    assert (stored["colour"], stored["nested"], stored["outputKey"]) == ("teal", {"deep": [1, {"a": None}]}, None)


def test_unknown_fields_of_a_nested_map_survive_a_change_beside_them(store: Store) -> None:
    store.put(task("running", lease=lease(ends=NOW)), job())
    store.other.document("jobs/j").update({"shots": {"s1": {"status": "pending", "editor": "kim"}}})

    def body(reader: Any) -> tuple[Commit, None]:
        found, of = reader.task_and_job(ID, "j")
        done = decide_completion(
            found, of, output_key="k", successors=[], dependencies={}, other_open_tasks=True, now=reader.now
        )
        return done.commit, None

    store.gateway.transact(body)
    assert store.raw("jobs/j")["shots"] == {"s1": {"status": "completed", "outputKey": "k", "editor": "kim"}}


def test_an_older_writers_document_is_read_normalised_and_only_what_changed_is_written(store: Store) -> None:
    store.put(job())
    old = {"jobId": "j", "stepType": "image-edit", "status": "queued", "attempt": None, "queuedAt": NOW}
    store.other.document("tasks/old").set(old)
    done = store.change(Task, "old", By.WORKER, status="running", lease=lease(ends=NOW), executions=1)
    assert done.changed
    stored = store.raw("tasks/old")
    assert (stored["stepType"], stored["attempt"], stored["checkBy"]) == ("image-edit", None, "reaper")
    assert (stored["status"], stored["executions"]) == ("running", 1)
    assert "failures" not in stored


def test_a_field_that_is_unset_is_removed(store: Store) -> None:
    store.put(task("running", lease=lease(ends=NOW)), job())
    store.change(Task, ID, By.WORKER, status="queued", lease=None, queued_at=NOW)
    assert "lease" not in store.raw(PATH)


@pytest.mark.parametrize(
    ("by", "fields", "code"),
    [
        (By.REAPER, {"status": "running", "lease": lease(ends=NOW)}, "illegal_transition"),
        (By.WORKER, {"status": "completed"}, "illegal_transition"),
        (By.WORKER, {"status": "running"}, "no_lease"),
        (By.WORKER, {"attempt": 1}, "attempt_went_back"),
        (By.WORKER, {"executions": 1}, "budget_went_back"),
        (By.WORKER, {"lease": lease(ends=NOW)}, "stray_lease"),
        (By.WORKER, {"status": "pending"}, "same_attempt"),
    ],
)
def test_an_unlawful_change_is_refused_whole(store: Store, by: By, fields: dict[str, Any], code: str) -> None:
    store.put(task("queued", attempt=2, executions=2), task("queued", id="other"), job())
    before = store.raw(PATH)

    def body(reader: Any) -> tuple[Commit, None]:
        found, other = reader.all(Task, [ID, "other"])
        lawful = other.replace(status="running", lease=lease(ends=NOW), executions=1)
        changes = (TaskChange(other, lawful, "lawful"), TaskChange(found, found.replace(**fields), "not"))
        return Commit(by, "test", "c", tasks=changes if by is By.WORKER else changes[1:]), None

    with pytest.raises(LawViolation) as caught:
        store.gateway.transact(body)
    assert caught.value.code == code
    assert store.raw(PATH) == before
    assert store.raw("tasks/other")["status"] == "queued"
    assert store.log() == []


def test_a_change_that_leaves_nobody_in_charge_is_refused(store: Store) -> None:
    store.put(task("running", lease=lease(ends=NOW)), job("completed"))
    with pytest.raises(LawViolation, match="nobody would drive it: its job is completed"):
        store.change(Task, ID, By.WORKER, status="pending", attempt=1, lease=None)


def test_a_change_must_rest_on_what_was_read_in_its_own_transaction(store: Store) -> None:
    """Evidence from before may be stale: nothing would notice."""
    store.put(task("queued"), job())
    seen = task("queued")
    running = seen.replace(status="running", lease=lease(ends=NOW))

    def blind(reader: Any) -> tuple[Commit, None]:
        reader.job("j")
        return Commit(By.WORKER, "claim", "c", tasks=(TaskChange(seen, running, "x"),)), None

    def altered(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID).replace(attempt=7)
        after = found.replace(status="running", lease=lease(ends=NOW))
        return Commit(By.WORKER, "claim", "c", tasks=(TaskChange(found, after, "x"),)), None

    for body in (blind, altered):
        with pytest.raises(LawViolation) as caught:
            store.gateway.transact(body)
        assert caught.value.code == "stale_evidence"
    assert store.raw(PATH)["status"] == "queued"


def test_a_jobs_change_must_rest_on_what_was_read_as_well(store: Store) -> None:
    store.put(job("pending"))
    seen = job("pending")

    def body(reader: Any) -> tuple[Commit, None]:
        reader.raw("config/production")
        change = JobChange(seen, seen.replace(status="processing"), "x")
        return Commit(By.DISPATCH, "start", "c", jobs=(change,)), None

    with pytest.raises(LawViolation, match="not read in its transaction"):
        store.gateway.transact(body)


def test_creating_what_exists_is_refused_whole(store: Store) -> None:
    store.put(job("processing"))
    commit = decide_creation(
        JobRequest(job_id="j", kind="base_clip_batch", shots={"s1": {}}, correlation_id="c"), now=NOW, policy=policy()
    )

    def body(reader: Any) -> tuple[Commit, None]:
        reader.raw("config/production")
        return commit, None

    with pytest.raises(Exception, match="refused"):
        store.gateway.transact(body)
    assert store.raw("jobs/j")["status"] == "processing"
    assert store.raw(PATH) == {}
    assert store.log() == []


def test_a_task_whose_job_is_gone_is_not_written(store: Store) -> None:
    store.put(task("queued"))
    with pytest.raises(PipelineStateError, match="job j of a task does not exist"):
        start(store)


def test_a_deferral_moves_the_driver_and_no_status(store: Store) -> None:
    store.put(task("queued"), job())
    until = NOW + timedelta(hours=5)

    def body(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID)
        return Commit(By.REAPER, "leave", "c", tasks=(TaskChange(found, found, "late", check_at=until),)), None

    store.gateway.transact(body)
    stored = store.raw(PATH)
    assert (stored["checkBy"], stored["checkAt"], stored["status"]) == ("reaper", until, "queued")


def test_a_finished_document_loses_its_driver(store: Store) -> None:
    store.put(task("running", lease=lease(ends=NOW), check_by="reaper", check_at=NOW), job())
    store.change(Task, ID, By.WORKER, status="completed", lease=None)
    assert not {"checkBy", "checkAt"} & store.raw(PATH).keys()


def test_a_job_gets_its_driver_too(store: Store) -> None:
    store.put(job("pending"))
    store.change(Job, "j", By.DISPATCH, status="processing")
    stored = store.raw("jobs/j")
    assert (stored["checkBy"], stored["checkAt"]) == ("stalled-jobs", stored["updatedAt"] + timedelta(hours=3))


def test_a_tasks_driver_follows_its_job_as_this_very_commit_leaves_it(store: Store) -> None:
    """A sibling that goes back to pending under the failing job is driven by that job."""
    store.put(task("running", lease=lease(ends=NOW)), task("queued", id="x", check_by="reaper", check_at=NOW), job())

    def body(reader: Any) -> tuple[Commit, None]:
        found, of = reader.task_and_job(ID, "j")
        siblings = reader.query(queued_of_job("j"), Task)
        end = decide_end(
            found, of, status=TaskStatus.FAILED, error=error(), by=By.WORKER, act="fail",
            queued_siblings=siblings, dependants=[], now=reader.now,
        )  # fmt: skip
        return end, None

    store.gateway.transact(body)
    assert "checkBy" not in store.raw("tasks/x")
    assert (store.raw("tasks/x")["status"], store.raw("tasks/x")["attempt"]) == ("pending", 1)
    assert (store.raw("jobs/j")["status"], store.raw("jobs/j")["checkBy"]) == ("failed", "production-retry")
    (entry,) = store.log()
    assert {line["path"]: (line["before"], line["after"]) for line in entry["changes"]} == {
        PATH: ("running", "failed"),
        "tasks/x": ("queued", "pending"),
        "jobs/j": ("processing", "failed"),
    }


def test_an_outbox_entry_stands_as_it_was_first_written(store: Store) -> None:
    """Sent already: a second failure of the same kind within the hour does not send it again."""
    store.put(task("queued"), job())
    store.other.document("notifications/n").set({"send": {"state": "sent"}, "seen": True})
    fields = {"send": {"state": SendState.UNSENT}, "code": "x"}

    def body(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID)
        new = (NewDocument("notifications/n", fields), NewDocument("notifications/m", fields))
        return Commit(By.REAPER, "x", "c", tasks=(TaskChange(found, found, "x"),), new=new), None

    store.gateway.transact(body)
    assert store.raw("notifications/n") == {"send": {"state": "sent"}, "seen": True}
    assert store.raw("notifications/m") == {"send": {"state": "unsent"}, "code": "x"}


def test_a_document_that_does_not_validate_is_named_with_its_path_and_problem(store: Store) -> None:
    store.put(job())
    store.other.document("tasks/bad").set({"jobId": "j", "stepType": "upscale", "status": "done"})
    with pytest.raises(UnreadableRecord, match="tasks/bad cannot be read: status: ") as caught:
        store.gateway.transact(lambda reader: (None, reader.task("bad")))
    assert caught.value.path == "tasks/bad"
    assert isinstance(caught.value, ValidationError)


def test_an_unreadable_document_keeps_nobody_from_the_others_who_asks_so(store: Store) -> None:
    store.put(job(), task("queued"))
    store.other.document("tasks/bad").set({"jobId": "j", "stepType": "upscale", "status": "queued", "attempt": "x"})
    unreadable: list[UnreadableRecord] = []
    found = store.gateway.transact(
        lambda reader: (None, reader.query(tasks_of_job("j"), Task, unreadable=unreadable))
    ).value
    assert [one.id for one in found] == [ID]
    assert [one.path for one in unreadable] == ["tasks/bad"]
    with pytest.raises(UnreadableRecord):
        store.gateway.transact(lambda reader: (None, reader.query(tasks_of_job("j"), Task)))


def test_now_is_the_time_of_the_first_read_and_needs_one(store: Store) -> None:
    store.put(task("queued"), job())

    def body(reader: Any) -> tuple[None, Any]:
        reader.query(tasks_of_job("j"), Task)
        first = reader.now
        store.runtime.sleep(60)
        reader.job("j")
        return None, (first, reader.now)

    first, later = store.gateway.transact(body).value
    assert first == later
    with pytest.raises(PipelineStateError, match="the first read gives the time"):
        store.gateway.transact(lambda reader: (None, reader.now))


def test_a_body_without_a_commit_writes_nothing(store: Store) -> None:
    store.put(task("queued"), job())
    for commit in (None, Commit(By.WORKER, "x", "c")):
        outcome = store.gateway.transact(lambda reader, commit=commit: (commit, reader.task(ID).status))
        assert (outcome.value, outcome.changed) == ("queued", False)
    assert store.log() == []


def test_long_reasons_are_cut_in_the_log(store: Store) -> None:
    store.put(task("queued"), job())

    def body(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID)
        return Commit(By.REAPER, "x", "c", tasks=(TaskChange(found, found, "y" * 5000),)), None

    store.gateway.transact(body)
    assert len(store.log()[0]["changes"][0]["reason"]) == 300


def test_a_jobs_log_line_has_what_the_invariants_need(store: Store) -> None:
    store.put(job("processing", production_incident=incident("retrying"), retry={"attempts": 2}))
    store.change(Job, "j", By.WORKER, status="failed", error=error("infrastructure"))
    (line,) = store.log()[0]["changes"]
    assert (line["kind"], line["retries"], line["incident"]) == ("base_clip_batch", 2, "retrying")
    assert line["errorClass"] == "infrastructure"


@pytest.mark.parametrize("locking", ["optimistic", "pessimistic"])
def test_a_job_of_five_hundred_tasks_starts_and_fails_in_one_commit_each(
    make_store: Callable[..., Store], locking: str
) -> None:
    """Within Firestore's limits, which the embedded server enforces: 10 MiB a request, 1 MiB a document."""
    store = make_store(locking=locking)
    of = job(id="j" * 60, shots={f"shot-{n:03d}": {} for n in range(100)})
    tasks = [
        task("queued", id=f"{of.id}.shot-{n:03d}.{'s' * 40}.{m}", job_id=of.id, shot_id=f"shot-{n:03d}")
        for n in range(100)
        for m in range(5)
    ]
    store.put(*tasks[1:], of)
    store.put(tasks[0].replace(status="running", lease=lease(ends=NOW)))

    def body(reader: Any) -> tuple[Commit, None]:
        found, its_job = reader.task_and_job(tasks[0].id, of.id)
        siblings = reader.query(queued_of_job(of.id), Task)
        end = decide_end(
            found, its_job, status=TaskStatus.FAILED, error=error(message="m" * 2000), by=By.WORKER, act="fail",
            queued_siblings=siblings, dependants=[], now=reader.now,
        )  # fmt: skip
        return end, None

    store.gateway.transact(body)
    (entry,) = store.log()
    assert len(entry["changes"]) == 501
    statuses = [one.get("status") for one in store.other.collection("tasks").stream()]
    assert (statuses.count("pending"), statuses.count("failed")) == (499, 1)


def test_marking_as_sent_is_fenced_on_queued_unsent_and_attempt(store: Store) -> None:
    unsent = task("queued", attempt=2, send={"state": "unsent", "at": NOW})
    store.put(unsent, job())
    assert not mark_sent(store.gateway, unsent.replace(attempt=1), "m", By.WORKER).value
    assert mark_sent(store.gateway, unsent, "m-1", By.WORKER).value
    stored = store.raw(PATH)
    assert (stored["send"]["state"], stored["send"]["messageId"], stored["status"]) == ("sent", "m-1", "queued")
    assert (stored["checkBy"], stored["checkAt"]) == ("reaper", NOW + timedelta(minutes=30))
    assert not mark_sent(store.gateway, unsent, "m-2", By.WORKER).value
    assert store.raw(PATH)["send"]["messageId"] == "m-1"


@pytest.mark.parametrize("status", ["running", "completed", "pending"])
def test_marking_as_sent_leaves_a_task_that_moved_on(store: Store, status: str) -> None:
    moved = task(status, send={"state": "unsent", "at": NOW})
    store.put(moved, job())
    assert not mark_sent(store.gateway, moved, "m", By.REAPER).value
    assert not mark_sent(store.gateway, task(id="gone"), "m", By.REAPER).value
    assert store.log() == []


def test_a_queued_task_is_driven_as_soon_as_the_commit_that_starts_its_job(store: Store) -> None:
    store.put(task("pending"), job("pending"))

    def body(reader: Any) -> tuple[Commit, None]:
        its_job = reader.job("j")
        return decide_start(its_job, reader.query(tasks_of_job("j"), Task), now=reader.now), None

    store.gateway.transact(body)
    stored = store.raw(PATH)
    assert (stored["status"], stored["checkBy"]) == ("queued", "reaper")
    assert stored["checkAt"] == stored["queuedAt"] + timedelta(seconds=60)


def test_a_job_whose_tasks_were_cancelled_needs_nobody_any_more(store: Store) -> None:
    store.put(task("queued"), job("cancelled", check_by="dispatch", check_at=NOW))

    def body(reader: Any) -> tuple[Commit, None]:
        its_job = reader.job("j")
        return decide_cancellation(its_job, reader.query(tasks_of_job("j"), Task)), None

    store.gateway.transact(body)
    assert store.raw(PATH)["status"] == "cancelled"
    assert not {"checkBy", "checkAt"} & store.raw("jobs/j").keys()


def test_one_document_is_changed_once_in_a_commit(store: Store) -> None:
    store.put(task("queued"), job())

    def body(reader: Any) -> tuple[Commit, None]:
        found = reader.task(ID)
        change = TaskChange(found, found.replace(status="running", lease=lease(ends=NOW)), "x")
        return Commit(By.WORKER, "x", "c", tasks=(change, change)), None

    with pytest.raises(LawViolation, match="changed twice"):
        store.gateway.transact(body)
    assert store.raw(PATH)["status"] == "queued"
