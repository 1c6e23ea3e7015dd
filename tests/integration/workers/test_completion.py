"""Completion (§2.1 rules 5 to 7): durable first, one fenced commit, then messages, then the delete."""

import pytest

from mos.domain.model import IncidentStatus, JobStatus, TaskStatus
from mos.local.aws.sqs_model import Fault, Kind, Operation
from mos.local.firestore.inprocess import grpc_error
from mos.local.simulation.actor import writes
from mos.workers.outcomes import Outcome

TASK = "j.s.edit"


@pytest.fixture
def submitted(world):
    world.submit("j", "chain", {"s": {"n": 1}})
    return world


def at_commit(world, number, act):
    """Let `act(do)` stand in for the actor's `number`-th commit from now."""
    seen = []

    def io(site, do):
        if site != "firestore.Commit":
            return do()
        seen.append(site)
        return act(do) if len(seen) == number else do()

    world.io = io


def unanswered(do):
    do()
    raise grpc_error("UNAVAILABLE", "the answer was lost")


def test_state_and_successor_are_one_commit_and_the_message_goes_after_it_race_10(submitted, actor):
    calls = []

    def io(site, do):
        if site == "sqs.send_message":
            calls.append((submitted.task(TASK).status, submitted.task("j.s.join").unsent))
        return do()

    submitted.io = io
    actor().poll("edit")
    assert calls == [(TaskStatus.COMPLETED, True)]
    task = submitted.task("j.s.join")
    assert (task.status, task.unsent, task.attempt) == (TaskStatus.QUEUED, False, 0)
    (entry,) = [entry for entry in submitted.documents("recoveryLog") if entry["act"] == "complete"]
    assert {line["path"] for line in entry["changes"]} == {f"tasks/{TASK}", "tasks/j.s.join"}


def test_a_successor_that_could_not_be_sent_stays_unsent_for_the_reaper(submitted, actor):
    submitted.faults.add(Fault(kind=Kind.UNAVAILABLE, operation=Operation.SEND))
    assert actor().poll("edit") == [Outcome.COMPLETED]
    assert submitted.task("j.s.join").unsent
    assert submitted.sqs.peek("q-edit") == []


def test_the_successors_message_carries_the_correlation_id(submitted, actor):
    worker = actor()
    worker.poll("edit")
    (received,) = submitted.queues.receive("q-join", max_messages=1, wait_seconds=0)
    assert received.attributes == {"correlationId": "cor-j"}


def test_a_commit_of_unknown_outcome_is_read_back_and_never_a_failure_race_7(submitted, actor):
    def work(_):
        at_commit(submitted, 2, unanswered)  # the pointer first, then the completion

    assert actor(edit=writes(b"x", work)).poll("edit") == [Outcome.COMPLETED]
    task = submitted.task(TASK)
    assert (task.status, task.failures, task.error) == (TaskStatus.COMPLETED, 0, None)
    assert len(submitted.sqs.peek("q-join")) == 1


def test_a_commit_that_could_not_be_read_back_is_found_to_be_ours_and_its_successor_sent(submitted, actor):
    failing = []

    def cut_after_the_commit(site, do):
        if failing and len(failing) < 25 and site.startswith("firestore"):
            failing.append(site)
            raise grpc_error("CANCELLED", "no network")
        answer = do()
        if site == "firestore.Commit" and not failing and submitted.task(TASK).status is TaskStatus.COMPLETED:
            failing.append(site)
            raise grpc_error("DEADLINE_EXCEEDED", "the answer was lost")
        return answer

    submitted.io = cut_after_the_commit
    assert actor().poll("edit") == [Outcome.COMPLETED]
    assert len(failing) == 25
    assert [message.receive_count for message in submitted.sqs.peek("q-join")] == [0]
    assert submitted.sqs.peek("q-edit") == []


def test_contention_that_outlasts_the_retries_is_tried_again_and_is_no_failure(submitted, actor):
    aborted = []

    def contended(site, do):
        if site == "firestore.Commit" and submitted.documents("processedAssets") and len(aborted) < 25:
            aborted.append(site)
            raise grpc_error("ABORTED", "too much contention")
        return do()

    def work(_):
        submitted.io = contended

    assert actor(edit=writes(b"x", work)).poll("edit") == [Outcome.COMPLETED]
    assert submitted.task(TASK).failures == 0


def test_a_store_that_stays_away_costs_no_failure_and_the_result_is_used_next_time(submitted, actor):
    ran = []

    def work(_):
        submitted.io = submitted.io if ran else away
        ran.append(1)

    def away(site, do):
        if site == "firestore.Commit":
            raise grpc_error("ABORTED", "too much contention")
        return do()

    worker = actor(edit=writes(b"x", work))
    assert worker.poll("edit") == [Outcome.LEFT]
    submitted.io = lambda _, do: do()
    assert submitted.task(TASK).failures == 0
    submitted.runtime.sleep(400)
    assert worker.poll("edit") == [Outcome.COMPLETED]


def test_a_zombies_result_changes_nothing_and_deletes_nothing_race_9(submitted, actor):
    def replaced(_):
        submitted.patch(TASK, **{"lease.token": "somebody-else"})

    assert actor(edit=writes(b"x", replaced)).poll("edit") == [Outcome.ABANDONED]
    task = submitted.task(TASK)
    assert (task.status, task.output_key, task.lease.token) == (TaskStatus.RUNNING, None, "somebody-else")
    assert submitted.task("j.s.join").status is TaskStatus.WAITING
    assert len(submitted.sqs.peek("q-edit")) == 1


def test_a_failed_delete_leaves_the_completed_state_and_only_the_acknowledgement_is_retried(submitted, actor):
    submitted.faults.add(Fault(kind=Kind.REFUSE, operation=Operation.DELETE))
    worker = actor()
    assert worker.poll("edit") == [Outcome.COMPLETED]
    done = submitted.task(TASK)
    submitted.runtime.sleep(301)
    assert worker.poll("edit") == [Outcome.DROPPED]
    assert submitted.task(TASK) == done
    assert submitted.sqs.peek("q-edit") == []
    assert len(submitted.sqs.peek("q-join")) == 1


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_under_a_stopped_job_the_completion_is_recorded_and_queues_nothing(submitted, actor, status):
    def stop(_):
        submitted.look.document("jobs/j").update({"status": status})

    assert actor(edit=writes(b"x", stop)).poll("edit") == [Outcome.COMPLETED]
    assert submitted.task(TASK).status is TaskStatus.COMPLETED
    assert submitted.task("j.s.join").status is TaskStatus.WAITING
    assert submitted.sqs.peek("q-join") == []


def test_the_last_open_task_completes_the_job_and_resolves_its_incident(submitted, actor):
    incident = {"failureClass": "infrastructure", "status": "retrying", "detectedAt": submitted.now}
    submitted.look.document("jobs/j").update({"productionIncident": incident})
    worker = actor()
    worker.poll("edit")
    assert submitted.job("j").status is JobStatus.PROCESSING
    worker.poll("join")
    job = submitted.job("j")
    assert (job.status, job.production_incident.status) == (JobStatus.COMPLETED, IncidentStatus.RESOLVED)


def test_two_last_tasks_that_end_together_complete_the_job_exactly_once(world, actor):
    world.submit("j", "chain", {"a": {"n": 1}, "b": {"n": 2}})
    worker = actor()
    worker.poll("edit")
    nested = []

    def other_first(context):
        if not nested:
            nested.append(actor().poll("join"))

    assert actor(join=writes(b"x", other_first)).poll("join").count(Outcome.COMPLETED) >= 1
    assert world.job("j").status is JobStatus.COMPLETED
    completing = [e for e in world.documents("recoveryLog") if any(c["path"] == "jobs/j" for c in e["changes"])]
    assert (
        sum(change["after"] == "completed" for e in completing for change in e["changes"] if "jobs" in change["path"])
        == 1
    )


def test_equal_input_is_not_worked_on_again(world, actor):
    ran = []
    worker = actor(edit=writes(b"x", lambda context: ran.append(context.task_id)))
    world.submit("j", "chain", {"s": {"n": 1}})
    world.submit("k", "chain", {"s": {"n": 1}})
    assert worker.poll("edit") == [Outcome.COMPLETED] * 2
    assert ran == [TASK]
    assert world.task("k.s.edit").output_key == world.task(TASK).output_key


def test_a_recorded_result_whose_object_is_gone_is_made_anew_and_recorded(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})
    digest = world.task(TASK).input_digest
    world.look.document(f"processedAssets/{digest}").set({"outputKey": "results/gone", "stepType": "edit"})
    assert actor().poll("edit") == [Outcome.COMPLETED]
    key = world.task(TASK).output_key
    assert key != "results/gone"
    assert world.look.document(f"processedAssets/{digest}").get().get("outputKey") == key


def test_the_pointer_is_there_before_the_completion_commit(submitted, actor):
    digest = submitted.task(TASK).input_digest
    order = []

    def io(site, do):
        if site == "firestore.Commit":
            pointer = submitted.look.document(f"processedAssets/{digest}").get().exists
            order.append((submitted.task(TASK).status, pointer))
        return do()

    submitted.io = io
    actor().poll("edit")
    assert (TaskStatus.RUNNING, True) in order


def test_somebody_elses_result_for_the_same_input_is_the_one_that_counts(submitted, actor):
    digest = submitted.task(TASK).input_digest

    def meanwhile(_):
        submitted.objects.put("results/first", b"first")
        submitted.look.document(f"processedAssets/{digest}").set({"outputKey": "results/first", "stepType": "edit"})

    actor(edit=writes(b"second", meanwhile)).poll("edit")
    assert submitted.task(TASK).output_key == "results/first"


def test_a_result_is_written_where_no_other_execution_writes(submitted, actor):
    actor().poll("edit")
    key = submitted.task(TASK).output_key
    assert key.startswith(f"results/j/{TASK}/0/")
    assert len(key.rsplit("/", 1)[1]) > 32


def test_scratch_files_are_removed(submitted, actor, tmp_path):
    actor().poll("edit")
    assert [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()] == []
