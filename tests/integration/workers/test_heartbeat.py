"""The heartbeat (§2.1 rule 4): lease first, then windows in batches; the lease decides."""

from datetime import timedelta

import pytest

from mos.domain.errors import LeaseLost, VeoError
from mos.domain.model import TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.inprocess import grpc_error
from mos.local.simulation.actor import writes
from mos.workers.context import Interrupted
from mos.workers.flight import Stop
from mos.workers.outcomes import Outcome

TASK = "j.s.edit"


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


def long(world, seconds, *, checkpoints=True, then=lambda _: None):
    """Work for so many virtual seconds, a checkpoint every ten."""

    def work(context):
        for _ in range(seconds // 10):
            world.runtime.sleep(10)
            if checkpoints:
                context.checkpoint()
        then(context)

    return writes(b"x", work)


def hidden(world, queue="q-edit"):
    (message,) = world.sqs.peek(queue)
    return message.visible_at - world.now.timestamp()


def test_work_that_outlives_its_window_keeps_lease_and_window_race_1(submitted, actor):
    seen = []

    def look(_):
        task = submitted.task(TASK)
        seen.append(((task.lease.expires_at - submitted.now).total_seconds(), hidden(submitted)))
        seen.append(actor().poll("edit"))

    worker = actor(edit=long(submitted, 700, then=look))
    worker.beating()
    assert worker.poll("edit") == [Outcome.COMPLETED]
    (lease, window), others = seen
    assert 225 <= lease <= 285
    assert 240 <= window <= 300
    assert others == []
    assert submitted.task(TASK).executions == 1


def test_a_renewal_is_one_write_without_a_read_and_windows_go_in_batches(world, actor, in_flight):
    world.submit("j", "chain", {f"s{number}": {"n": number} for number in range(10)})
    calls = []
    worker = actor()
    with in_flight(worker):
        world.io = lambda site, do: calls.append(site) or do()
        worker.process.heartbeat.beat()
    assert calls == ["firestore.Commit"] * 10 + ["sqs.change_message_visibility_batch"]


def test_a_renewal_resets_the_window_and_never_adds_up(submitted, actor):
    windows = []
    worker = actor(edit=long(submitted, 600))
    worker.beating()
    submitted.runtime.every(61, lambda: windows.append(hidden(submitted)))
    worker.poll("edit")
    assert max(windows) <= 300


def test_check_at_moves_with_the_lease_so_that_nobody_looks_early_race_13(submitted, actor):
    looks = []
    worker = actor(edit=long(submitted, 300))
    worker.beating()
    submitted.runtime.every(61, lambda: looks.append(submitted.task(TASK)))
    worker.poll("edit")
    running = [task for task in looks if task.status is TaskStatus.RUNNING]
    assert running
    assert all(task.check_at - task.lease.expires_at == timedelta(seconds=120) for task in running)


def test_last_progress_is_written_by_checkpoints_only_and_at_most_once_a_minute(submitted, actor):
    worker = actor(edit=long(submitted, 300))
    worker.beating()
    stamps = set()
    submitted.runtime.every(5, lambda: stamps.add(submitted.task(TASK).last_progress_at))
    worker.poll("edit")
    assert 3 <= len(stamps) <= 6

    submitted.submit("k", "chain", {"s": {"n": 2}})
    silent = actor(edit=long(submitted, 300, checkpoints=False))
    silent.beating()
    seen = []
    submitted.runtime.every(250, lambda: seen.append(submitted.task("k.s.edit")))
    silent.poll("edit")
    assert seen[0].last_progress_at == seen[0].started_at


def test_a_renewal_whose_answer_is_lost_is_read_back(submitted, actor):
    def lose(context):
        def io(site, do):
            if site != "firestore.Commit":
                return do()
            submitted.io = lambda _, do: do()
            do()
            raise grpc_error("UNAVAILABLE", "the answer was lost")

        before = submitted.task(TASK).lease.expires_at
        submitted.runtime.sleep(60)
        submitted.io = io
        worker.process.heartbeat.beat()
        assert submitted.task(TASK).lease.expires_at > before
        (flight,) = worker.process.flights.all()
        assert flight.lease.expires_at == submitted.task(TASK).lease.expires_at
        submitted.runtime.sleep(60)
        worker.process.heartbeat.beat()
        context.checkpoint()

    worker = actor(edit=writes(b"x", lose))
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_a_foreign_write_to_the_task_costs_one_more_write_and_no_lease(submitted, actor):
    def touched(context):
        submitted.patch(TASK, note="by somebody")
        worker.process.heartbeat.beat()
        context.checkpoint()

    worker = actor(edit=writes(b"x", touched))
    assert worker.poll("edit") == [Outcome.COMPLETED]


@pytest.mark.parametrize("gone", ["taken", "cancelled", "deleted"])
def test_a_lease_that_is_somebody_elses_aborts_the_work_race_9(submitted, actor, gone):
    raised = []

    def lost(context):
        match gone:
            case "taken":
                submitted.patch(TASK, **{"lease.token": "somebody-else"})
            case "cancelled":
                submitted.patch(TASK, status="cancelled")
            case "deleted":
                submitted.look.document(f"tasks/{TASK}").delete()
        worker.process.heartbeat.beat()
        try:
            context.checkpoint()
        except LeaseLost as error:
            raised.append(error)
            raise

    worker = actor(edit=writes(b"x", lost))
    assert worker.poll("edit") == [Outcome.ABANDONED]
    assert raised
    assert len(submitted.sqs.peek("q-edit")) == 1


def test_a_lease_that_could_not_be_renewed_aborts_before_it_ends_in_the_store(submitted, actor):
    aborted = []

    def work(context):
        ends = submitted.task(TASK).lease.expires_at
        submitted.io = cut
        try:
            while True:
                submitted.runtime.sleep(1)
                context.checkpoint()
        except LeaseLost:
            aborted.append(ends - submitted.now)
            raise

    def cut(site, do):
        if site.startswith("firestore"):
            raise grpc_error("UNAVAILABLE", "no network")
        return do()

    worker = actor(edit=writes(b"x", work))
    worker.beating()
    assert worker.poll("edit") == [Outcome.ABANDONED]
    (left,) = aborted
    assert timedelta(seconds=-1) <= left <= timedelta(seconds=10)


def test_a_frozen_process_that_wakes_up_after_its_lease_stops_by_itself_race_12(submitted, actor):
    def frozen(context):
        submitted.runtime._elapsed += 2700  # SIGSTOP: no timer fires meanwhile
        context.checkpoint()

    worker = actor(edit=writes(b"x", frozen))
    worker.beating()
    assert worker.poll("edit") == [Outcome.ABANDONED]
    assert submitted.task(TASK).status is TaskStatus.RUNNING


def test_a_stale_receipt_alone_does_not_abort(submitted, actor):
    submitted.faults.add(Fault(kind=Kind.REFUSE, operation=Operation.EXTEND, skip=1, times=None))
    worker = actor(edit=long(submitted, 200))
    worker.beating()
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_one_slow_task_does_not_keep_the_others_from_being_renewed(world, actor, in_flight):
    world.submit("j", "chain", {f"s{number}": {"n": number} for number in range(10)})
    worker = actor()
    with in_flight(worker):
        ends = {task.id: task.lease.expires_at for task in world.tasks() if task.lease}
        failed = []

        def slow(site, do):
            if site in {"firestore.Commit", "firestore.BatchGetDocuments"} and len(failed) < 2:
                failed.append(site)
                world.runtime.sleep(5)
                raise grpc_error("DEADLINE_EXCEEDED", "slow")
            return do()

        world.runtime.sleep(60)
        world.io = slow
        worker.process.heartbeat.beat()
        renewed = [task for task in world.tasks() if task.lease and task.lease.expires_at > ends[task.id]]
        assert len(renewed) == 9
        worker.process.heartbeat.beat()
        assert all(task.lease.expires_at > ends[task.id] for task in world.tasks() if task.lease)
        assert all(flight.stop is None for flight in worker.process.flights.all())


def test_past_its_time_to_live_a_step_is_reported_left_running_and_closed_at_its_end_law_6(submitted, actor):
    open_while = []
    worker = actor(edit=long(submitted, 1000, then=lambda _: open_while.extend(submitted.documents("findings"))))
    worker.beating()
    assert worker.poll("edit") == [Outcome.COMPLETED]
    assert submitted.task(TASK).reap_count == 0
    (finding,) = open_while
    assert (finding["code"], finding["subject"], finding["open"]) == ("LONG_RUNNING", f"tasks/{TASK}", True)
    assert finding["occurrences"] == 1
    assert [finding["open"] for finding in submitted.documents("findings")] == [False]


def test_at_four_times_its_time_to_live_a_step_is_stopped_and_counted_as_a_failure(submitted, actor):
    worker = actor(edit=long(submitted, 5000))
    worker.beating()
    assert worker.poll("edit") == [Outcome.RETRY]
    task = submitted.task(TASK)
    assert (task.status, task.failures, task.error.code) == (TaskStatus.QUEUED, 1, "ran_too_long")


def test_a_handler_that_does_not_stop_makes_the_process_end(submitted, actor):
    worker = actor(edit=long(submitted, 4000, checkpoints=False))
    worker.beating()
    worker.poll("edit")
    assert worker.process.broken
    assert TASK in worker.process.broken


def test_before_the_receipt_expires_the_worker_hands_over(submitted, actor):
    step = submitted.policy.pipeline.steps["edit"]
    object.__setattr__(step, "running_ttl_seconds", 43_200)
    worker = actor(edit=long(submitted, 43_200))
    worker.beating()
    old = submitted.sqs.peek("q-edit")[0].message_id
    began = submitted.runtime.monotonic()
    assert worker.poll("edit") == [Outcome.RELEASED]
    assert submitted.runtime.monotonic() - began < 43_200
    task = submitted.task(TASK)
    (fresh,) = submitted.sqs.peek("q-edit")
    assert (fresh.message_id != old, fresh.visible, fresh.receive_count) == (True, True, 0)
    assert (task.status, task.attempt, task.failures, task.reap_count) == (TaskStatus.QUEUED, 0, 0, 0)
    assert (task.send.state, task.send.message_id) == ("sent", fresh.message_id)


def test_no_renewal_follows_the_end_of_a_task_race_6(submitted, actor):
    calls = []

    def io(site, do):
        answer = do()
        if site == "sqs.delete_message_batch":
            worker.process.heartbeat.beat()
        calls.append(site)
        return answer

    worker = actor()
    submitted.io = io
    worker.poll("edit")
    assert calls[-1] == "sqs.delete_message_batch"


@pytest.mark.parametrize("end", ["fails", "drains"])
def test_no_renewal_overwrites_the_window_that_an_end_sets(submitted, actor, end):
    sites, made_by_a_beat = [], []

    def io(site, do):
        sites.append(site)
        if site == "sqs.change_message_visibility_batch":
            before = len(sites)
            worker.process.heartbeat.beat()
            made_by_a_beat.extend(sites[before:])
        return do()

    def work(context):
        submitted.io = io
        if end == "fails":
            raise VeoError("timeout")
        worker.process.flights.ask_all_to_stop(Stop.DRAIN)
        context.checkpoint()

    worker = actor(edit=writes(b"x", work))
    worker.poll("edit")
    assert sites.count("sqs.change_message_visibility_batch") == 1
    assert made_by_a_beat == []
    assert hidden(submitted) == pytest.approx(30 if end == "fails" else 0, abs=1)


def test_no_renewal_disturbs_the_completion_commit(submitted, actor):
    def io(site, do):
        if site == "firestore.BeginTransaction":
            before = len(beats)
            worker.process.heartbeat.beat()
            assert len(beats) == before
        elif site == "firestore.Commit" and worker.process.flights.all():
            beats.append(site)
        return do()

    beats = []

    def work(_):
        submitted.io = io

    worker = actor(edit=writes(b"x", work))
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_a_handler_is_told_why_it_should_stop(submitted, actor):
    told = []

    def work(context):
        worker.process.flights.ask_all_to_stop(Stop.DRAIN)
        try:
            context.checkpoint()
        except Interrupted as error:
            told.append(str(error))
            raise

    worker = actor(edit=writes(b"x", work))
    assert worker.poll("edit") == [Outcome.RELEASED]
    assert "drain" in told[0]
