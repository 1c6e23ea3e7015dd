"""The worker's own records: error events counted once, liveness, leases under faults and skewed clocks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mos.domain.errors import FailureClass, LeaseLost, StateStoreError
from mos.domain.model import WorkerRecord
from mos.local.firestore.inprocess import grpc_error
from mos.store.documents import read
from mos.store.events import JobError, record_job_error
from mos.store.leases import Anchor, HeldLease, Renewal, renew
from mos.store.workers import Identity, Liveness

TASK = "j.s.edit"
RENEWAL = Renewal(length=timedelta(seconds=285), grace=timedelta(seconds=120), progressed=False, timeout=1)


def job_error(**changes):
    fields = {"site": ("t", "0"), "failure_class": FailureClass.UNKNOWN, "code": "c", "message": "m", "job_id": "j"}
    return JobError(**{**fields, **changes})


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


def test_the_same_failure_is_one_event_and_counts_once(submitted):
    assert [record_job_error(submitted.client, job_error()) for _ in range(3)] == [True, False, False]
    assert submitted.job("j").error_count == 1
    assert len(submitted.documents("jobErrorEvents")) == 1


def test_a_write_that_was_applied_but_not_answered_counts_once(submitted):
    lost = []

    def lose(site, do):
        answer = do()
        if site == "firestore.Commit" and not lost:
            lost.append(site)
            raise grpc_error("UNAVAILABLE", "the answer was lost")
        return answer

    submitted.io = lose
    record_job_error(submitted.client, job_error())
    assert submitted.job("j").error_count == 1


def test_a_failure_of_an_unknown_job_is_recorded_without_a_counter(submitted):
    assert record_job_error(submitted.client, job_error(job_id="nobody"))
    assert submitted.documents("jobErrorEvents")[0]["jobId"] == "nobody"
    assert {job["id"] for job in submitted.documents("jobs")} == {"j"}


@pytest.mark.parametrize("error", [grpc_error("PERMISSION_DENIED", "no"), OSError("cut"), ValueError("odd")])
def test_nothing_in_it_can_break_the_caller(submitted, error):
    def refuse(site, do):
        raise error

    submitted.io = refuse
    assert record_job_error(submitted.client, job_error()) is False


@pytest.mark.parametrize(
    ("failure_class", "severity"),
    [("infrastructure", "warning"), ("unknown", "warning"), ("media_or_template", "critical")],
)
def test_the_severity_follows_from_the_class(failure_class, severity):
    assert job_error(failure_class=FailureClass(failure_class)).severity == severity


def test_a_workers_record_is_whole_after_every_write(world):
    liveness = Liveness(world.client, Identity(worker_id="w", version="1", host="h", pid=1, steps=("edit",)))
    record = world.look.document("workers/w")
    liveness.start()
    world.runtime.sleep(60)
    liveness.beat(3, {"dropped": 1})
    found = read(WorkerRecord, record.get())
    assert (found.in_flight, found.heartbeat_at - found.started_at) == (3, timedelta(seconds=60))
    record.delete()
    liveness.beat(2, {})
    assert read(WorkerRecord, record.get()).started_at == found.started_at
    liveness.stop("SIGTERM", 0)
    stopped = read(WorkerRecord, record.get())
    assert stopped.stop_reason == "SIGTERM"
    assert stopped.stopped_at - world.now < timedelta(milliseconds=1)


@pytest.fixture
def held(submitted):
    """A lease as its holder knows it right after the claim."""
    now = submitted.now
    ends = now + timedelta(seconds=285)
    lease = {"owner": "me", "token": "mine", "renewedAt": now, "expiresAt": ends}
    reference = submitted.look.document(f"tasks/{TASK}")
    reference.update({"status": "running", "lease": lease, "startedAt": now, "checkBy": "reaper", "checkAt": ends})
    update_time = reference.get().update_time
    elapsed = submitted.runtime.monotonic()
    anchor = Anchor(server_time=update_time, sent=elapsed, answered=elapsed)
    return HeldLease(task_id=TASK, attempt=0, token="mine", expires_at=ends, update_time=update_time, anchor=anchor)


def test_the_holder_never_believes_in_its_lease_longer_than_the_store_does(submitted, held):
    """Whatever each call takes, and on whichever leg: the local deadline is at or before the end in the store."""
    legs = [(0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (3.0, 2.0), (0.0, 4.0)]
    for before, after in legs * 2:

        def slow(_, do, before=before, after=after):
            submitted.runtime.sleep(before)
            answer = do()
            submitted.runtime.sleep(after)
            return answer

        submitted.runtime.sleep(40)
        submitted.io = slow
        held = renew(submitted.client, held, RENEWAL, submitted.runtime)
        submitted.io = lambda _, do: do()
        stored = submitted.task(TASK).lease.expires_at
        store_ends_in = (stored - submitted.now).total_seconds()
        assert stored == held.expires_at
        assert held.deadline - submitted.runtime.monotonic() <= store_ends_in + 1e-3
        assert held.expires_at - held.update_time <= timedelta(seconds=285, milliseconds=1)


def test_a_hosts_clock_that_is_minutes_off_changes_nothing_race_15(submitted, held):
    submitted.runtime._skew = timedelta(minutes=-5)
    submitted.runtime.sleep(60)
    renewed = renew(submitted.client, held, RENEWAL, submitted.runtime)
    assert (renewed.expires_at - submitted.now).total_seconds() == pytest.approx(285, abs=0.01)


def test_a_renewal_that_was_refused_and_cannot_be_read_back_leaves_the_old_end(submitted, held):
    def away(_, __):
        raise grpc_error("UNAVAILABLE", "no network")

    submitted.io = away
    with pytest.raises(StateStoreError):
        renew(submitted.client, held, RENEWAL, submitted.runtime)
    submitted.io = lambda _, do: do()
    assert renew(submitted.client, held, RENEWAL, submitted.runtime).token == "mine"


def test_after_an_applied_but_unanswered_renewal_the_next_one_goes_on_from_there(submitted, held):
    def lose(site, do):
        do()
        submitted.io = lambda _, __: (_ for _ in ()).throw(grpc_error("UNAVAILABLE", "still no network"))
        raise grpc_error("UNAVAILABLE", "the answer was lost")

    submitted.io = lose
    with pytest.raises(StateStoreError):
        renew(submitted.client, held, RENEWAL, submitted.runtime)
    submitted.io = lambda _, do: do()
    submitted.runtime.sleep(30)
    renewed = renew(submitted.client, held, RENEWAL, submitted.runtime)
    assert renewed.expires_at == submitted.task(TASK).lease.expires_at


@pytest.mark.parametrize("change", [{"lease.token": "theirs"}, {"status": "queued"}, {"attempt": 1}])
def test_a_task_that_is_not_ours_is_never_renewed(submitted, held, change):
    submitted.patch(TASK, **change)
    before = submitted.documents("tasks")
    with pytest.raises(LeaseLost):
        renew(submitted.client, held, RENEWAL, submitted.runtime)
    assert submitted.documents("tasks") == before


def test_a_task_that_is_written_all_the_time_is_given_up_for_this_beat(submitted, held):
    def meddle(site, do):
        if site == "firestore.Commit":
            submitted.patch(TASK, note=submitted.runtime.new_id())
        return do()

    submitted.io = meddle
    with pytest.raises(StateStoreError, match="somebody else"):
        renew(submitted.client, replace(held), RENEWAL, submitted.runtime)
