"""Each invariant says so when it is broken, and says nothing of a log that is in order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from mos.domain.findings import Finding, Severity
from mos.domain.invariants import Evidence, check, recovery_kept_still, silence
from mos.domain.model import Render
from mos.domain.recovery_log import History, LogEntry
from tests.builders import NOW, ago, ahead, incident, job, policy, task

T = "tasks/t"
LIVE = ahead(minutes=4)
J = "jobs/j"


def line(path: str, before: str | None, after: str, **fields: Any) -> dict[str, Any]:
    return {"path": path, "before": before, "after": after} | fields


def entry(number: int, *lines: dict[str, Any], by: str = "worker", act: str = "x", at: datetime = NOW) -> LogEntry:
    committed = at + timedelta(seconds=number)
    return LogEntry(id=f"e{number}", by=by, act=act, at=at, committed_at=committed, changes=lines)


def broken(*entries: LogEntry, **fields: Any) -> set[str]:
    return {violation.invariant for violation in check(Evidence(policy=policy(), entries=entries, **fields))}


CREATED = entry(0, line(T, None, "waiting"), line(J, None, "pending", kind="k"), by="producer")
STARTED = entry(1, line(T, "waiting", "queued"), line(J, "pending", "processing", kind="k"), by="dispatch")
CLAIMED = entry(2, line(T, "queued", "running", leaseToken="a", executions=1))
COMPLETED = entry(
    3, line(T, "running", "completed", leaseTokenBefore="a", leaseEndedBefore=ahead(minutes=9), executions=1)
)
LIFE = (CREATED, STARTED, CLAIMED, COMPLETED)


def test_an_ordinary_life_breaks_nothing() -> None:
    done = task("completed", id="t")
    assert broken(*LIFE, tasks={"t": done}, jobs={"j": driven_job()}, max_concurrent_jobs=1) == set()


def driven_job(**fields: Any) -> Any:
    return job("processing", check_by="stalled-jobs", check_at=NOW, **fields)


def test_the_log_is_read_in_the_order_of_its_commits() -> None:
    assert [one.id for one in History([COMPLETED, STARTED, CREATED, CLAIMED]).entries] == ["e0", "e1", "e2", "e3"]
    unknown = LogEntry(id="z", by="worker", act="x", at=NOW)
    assert unknown.order == (NOW, "z")


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        ("completed", "queued", "reaper"),
        ("cancelled", "pending", "operator"),
        ("failed", "running", "worker"),
        ("queued", "running", "reaper"),
    ],
)
def test_s2_a_change_that_the_table_does_not_know(before: str, after: str, by: str) -> None:
    assert "S2" in broken(entry(1, line(T, before, after, attempt=9), by=by))


def test_s2_jobs_as_well() -> None:
    assert broken(entry(1, line(J, "completed", "failed"))) == {"S2"}


def test_s3_an_attempt_that_went_back() -> None:
    later = entry(3, line(T, "running", "queued", attempt=1))
    assert broken(entry(1, line(T, "queued", "running", attempt=2, leaseToken="a")), later) == {"S3"}


def test_s3_a_revival_without_a_new_attempt() -> None:
    failed = entry(1, line(T, "running", "failed", attempt=2))
    assert broken(failed, entry(2, line(T, "failed", "pending", attempt=2), by="operator")) == {"S3"}
    assert broken(failed, entry(2, line(T, "failed", "pending", attempt=3), by="operator")) == set()


def signed(actor: str, *, ended: datetime = LIVE, act: str = "complete", **fields: Any) -> set[str]:
    held = {"leaseTokenBefore": "a", "leaseOwnerBefore": "boot-b", "leaseEndedBefore": ended} | fields
    done = entry(3, line(T, "running", "completed", **held), act=act).replace(actor=actor)
    return broken(CREATED, STARTED, CLAIMED, done)


def test_s3_a_worker_that_ends_what_another_holds() -> None:
    assert signed("worker:boot-a") == {"S3"}
    assert signed("worker:boot-b") == set()


def test_s3_what_is_no_zombies_work() -> None:
    assert signed("worker:boot-a", ended=NOW) == set()
    assert signed("worker:boot-a", act="spent") == set()
    assert signed("somebody") == set()
    assert signed("worker:boot-a", leaseOwnerBefore=None) == set()


def takeover(ended: datetime, *, reaps: int) -> LogEntry:
    taken = {"leaseToken": "b", "leaseTokenBefore": "a", "leaseEndedBefore": ended}
    return entry(3, line(T, "running", "running", reapCount=reaps, **taken))


def test_s4_a_counted_takeover_of_a_live_lease() -> None:
    assert broken(CREATED, STARTED, CLAIMED, takeover(ahead(seconds=1), reaps=1)) == {"S4"}
    assert broken(CREATED, STARTED, CLAIMED, takeover(NOW, reaps=1)) == set()
    assert broken(CREATED, STARTED, CLAIMED, takeover(ahead(seconds=1), reaps=0)) == set()


def test_s4_a_token_that_was_given_twice() -> None:
    again = entry(4, line(T, "queued", "running", leaseToken="a"))
    assert broken(CREATED, STARTED, CLAIMED, entry(3, line(T, "running", "queued", leaseTokenBefore="a")), again) == {
        "S4"
    }


@pytest.mark.parametrize(
    ("fields", "by"),
    [
        ({"reapCount": 4}, "worker"),
        ({"failures": 4, "stepType": "upscale"}, "worker"),
        ({"failures": 9, "stepType": "voice_training"}, "worker"),
        ({"executions": 9}, "worker"),
    ],
)
def test_s5_a_budget_of_a_task_that_was_exceeded(fields: dict[str, Any], by: str) -> None:
    assert broken(entry(1, line(T, "queued", "running", leaseToken="a", **fields), by=by)) == {"S5"}
    less = {name: value - 1 if isinstance(value, int) else value for name, value in fields.items()}
    assert broken(entry(1, line(T, "queued", "running", leaseToken="a", **less), by=by)) == set()


def test_s5_a_third_automatic_retry() -> None:
    retried = {"retries": 3, "incidentClass": "infrastructure"}
    assert "S5" in broken(entry(1, line(J, "failed", "pending", **retried), by="production-retry"))
    assert broken(entry(1, line(J, "failed", "pending", **retried), by="operator")) == set()


def test_s5_a_fourth_submission() -> None:
    attempts = [{"uid": str(n), "submittedAt": NOW} for n in range(4)]
    found = task("completed", id="t", step_type="render", render=Render(attempts=attempts))
    assert broken(tasks={"t": found}, jobs={"j": driven_job()}) == {"S5"}


def test_s6_a_reap_of_a_live_lease() -> None:
    def reap(ended: datetime, reaps: int) -> LogEntry:
        held = {"leaseTokenBefore": "a", "leaseEndedBefore": ended}
        return entry(3, line(T, "running", "queued", attempt=1, reapCount=reaps, **held), by="reaper")

    assert broken(CREATED, STARTED, CLAIMED, reap(ahead(seconds=1), 1)) == {"S6"}
    assert broken(CREATED, STARTED, CLAIMED, reap(ago(seconds=1), 1)) == set()
    assert broken(CREATED, STARTED, CLAIMED, reap(ahead(seconds=1), 0)) == set()


def test_s7_a_recovery_that_acted_in_a_run_without_faults() -> None:
    def acted(*entries: LogEntry) -> int:
        return len(list(recovery_kept_still(Evidence(policy=policy(), entries=entries))))

    assert acted(*LIFE) == 0
    assert acted(entry(1, line(T, "running", "queued"), by="reaper")) == 1
    assert acted(entry(1, line(T, "queued", "queued"), by="reaper", act="resend")) == 1
    assert acted(entry(1, line(T, "queued", "queued"), by="reaper", act="sent")) == 0


def test_s8_more_jobs_than_slots() -> None:
    two = entry(2, line("jobs/k", "pending", "processing", kind="k"), by="dispatch")
    voice = entry(2, line("jobs/v", None, "processing", kind="voice_training"))
    ended = entry(1.5, line(J, "processing", "completed", kind="k"))  # type: ignore[arg-type]
    assert broken(CREATED, STARTED, two, max_concurrent_jobs=1) == {"S8"}
    assert broken(CREATED, STARTED, two, max_concurrent_jobs=2) == set()
    assert broken(CREATED, STARTED, voice, max_concurrent_jobs=1) == set()
    assert broken(CREATED, STARTED, ended, two, max_concurrent_jobs=1) == set()
    assert broken(CREATED, STARTED, two) == set()


EDGE = {
    "t": task("completed", id="t", next=["n"]),
    "n": task("waiting", id="n", depends_on=["t"]),
}


def edge(*lines: dict[str, Any], **fields: Any) -> set[str]:
    created = entry(
        0, line(T, None, "waiting"), line("tasks/n", None, "waiting"), line(J, None, "pending"), by="producer"
    )
    done = entry(3, *COMPLETED.model_dump(by_alias=True)["changes"], *lines)
    tasks = EDGE | {"n": EDGE["n"].replace(**fields)}
    return broken(created, STARTED, CLAIMED, done, tasks=tasks, jobs={"j": driven_job()})


def test_s10_a_successor_that_its_last_dependency_forgot() -> None:
    assert edge() == {"S10"}
    queued = {"status": "queued", "queued_at": NOW, "check_by": "reaper", "check_at": NOW}
    assert edge(line("tasks/n", "waiting", "queued"), **queued) == set()


def test_s10_a_successor_that_still_waits_for_others_is_not_forgotten() -> None:
    assert edge(depends_on=["t", "other"]) == set()


def test_s10_under_a_job_that_stopped_nothing_follows() -> None:
    created = entry(
        0, line(T, None, "waiting"), line("tasks/n", None, "waiting"), line(J, None, "pending"), by="producer"
    )
    failed = entry(2.5, line(J, "processing", "failed"))  # type: ignore[arg-type]
    jobs = {"j": job("failed", production_incident=incident("operator_required"))}
    assert broken(created, STARTED, CLAIMED, failed, COMPLETED, tasks=EDGE, jobs=jobs) == set()


def test_s10_an_attempt_that_was_queued_twice() -> None:
    again = entry(3, line(T, "waiting", "queued"), by="dispatch")
    assert "S10" in broken(CREATED, STARTED, again)


def test_s12_two_open_findings_of_one_class_and_subject() -> None:
    def found(name: str, closed: datetime | None = None) -> Finding:
        return Finding(
            id=name, code="X", subject="s", severity=Severity.INFO, first_seen=NOW, last_seen=NOW, closed_at=closed
        )

    assert broken(findings=[found("a"), found("b")]) == {"S12"}
    assert broken(findings=[found("a"), found("b", NOW)]) == set()


def test_s13_a_change_that_nobody_logged() -> None:
    gap = entry(3, line(T, "completed", "completed"))
    assert broken(CREATED, STARTED, CLAIMED, gap) == {"S13"}


def test_s13_a_status_that_the_log_does_not_give() -> None:
    stored = {"t": task("completed", id="t")}
    assert broken(CREATED, STARTED, CLAIMED, tasks=stored, jobs={"j": driven_job()}) == {"S13"}
    assert "S13" in broken(CREATED, STARTED, jobs={"j": job("completed")})


@pytest.mark.parametrize("cls", ["provider_rejection", "media_or_template", "template_unavailable", None])
def test_s14_a_final_failure_that_the_worker_tried_again(cls: str | None) -> None:
    retried = entry(3, line(T, "running", "queued", failures=1, errorClass=cls, leaseTokenBefore="a"))
    assert broken(CREATED, STARTED, CLAIMED, retried) == {"S14"}
    drained = entry(3, line(T, "running", "queued", errorClass=cls, leaseTokenBefore="a"))
    assert broken(CREATED, STARTED, CLAIMED, drained) == set()


@pytest.mark.parametrize("cls", ["unknown", "provider_timeout"])
def test_s14_the_worker_may_try_what_is_transient_or_unknown(cls: str) -> None:
    retried = entry(3, line(T, "running", "queued", failures=1, errorClass=cls, leaseTokenBefore="a"))
    assert broken(CREATED, STARTED, CLAIMED, retried) == set()


@pytest.mark.parametrize(
    ("failed_as", "incident_class", "by", "found"),
    [
        ("provider_rejection", None, "production-retry", {"S14"}),
        ("unknown", None, "production-retry", {"S14"}),
        ("unknown", "provider_timeout", "production-retry", set()),
        ("provider_timeout", "provider_rejection", "production-retry", {"S14"}),
        ("infrastructure", None, "production-retry", set()),
        ("provider_rejection", None, "operator", set()),
    ],
)
def test_s14_only_a_person_retries_what_is_final(
    failed_as: str, incident_class: str | None, by: str, found: set[str]
) -> None:
    failed = entry(1, line(J, "processing", "failed", errorClass=failed_as))
    assert broken(failed, entry(2, line(J, "failed", "pending", incidentClass=incident_class), by=by)) == found


@pytest.mark.parametrize(
    ("fields", "ok"),
    [
        ({"check_by": "reaper", "check_at": NOW}, True),
        ({"check_by": "dispatch", "check_at": NOW}, False),
        ({"check_by": "reaper"}, False),
        ({}, False),
        ({"check_by": "reaper", "check_at": NOW, "queued_at": None, "send": {}}, False),
    ],
)
def test_s17_a_queued_task_without_its_driver(fields: dict[str, Any], ok: bool) -> None:
    found = broken(tasks={"t": task("queued", id="t", **fields)}, jobs={"j": driven_job()})
    assert found == (set() if ok else {"S17"})


def test_s17_a_job_without_its_driver() -> None:
    assert broken(jobs={"j": job("processing")}) == {"S17"}
    assert broken(jobs={"j": job("failed")}) == {"S17"}
    assert broken(jobs={"j": job("cancelled")}) == set()
    open_task = {"t": task("pending", id="t")}
    assert broken(jobs={"j": job("cancelled")}, tasks=open_task) == {"S17"}


def test_s17_a_task_that_waits_for_a_job_which_is_over_or_gone() -> None:
    open_task = {"t": task("pending", id="t")}
    assert broken(jobs={"j": job("completed")}, tasks=open_task) == {"S17"}
    assert broken(tasks=open_task) == {"S17"}
    assert broken(tasks={"t": task("completed", id="t")}) == set()


def test_l2_what_was_due_long_ago_is_silence() -> None:
    found = Evidence(policy=policy(), tasks={"t": task("queued", id="t", check_by="reaper", check_at=ago(minutes=11))})
    assert [one.subject for one in silence(found, now=NOW, allowance=timedelta(minutes=10))] == [T]
    assert list(silence(found, now=NOW, allowance=timedelta(minutes=11))) == []
    assert (
        len(
            list(silence(Evidence(policy=policy(), jobs={"j": driven_job()}), now=ahead(days=1), allowance=timedelta()))
        )
        == 1
    )
