"""Workers in real threads on one database: one winner per task, one successor per edge, one end per job."""

import threading
from collections import Counter

import pytest

from mos.domain.claims import Claimed
from mos.domain.messages import parse_message
from mos.domain.model import JobStatus, TaskStatus
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.local.simulation.actor import Actor, writes
from mos.local.simulation.world import World
from mos.runtime import SystemRuntime
from mos.workers.delivery import Delivery
from mos.workers.outcomes import Outcome

WORKERS = 6


@pytest.fixture(params=["optimistic", "pessimistic"])
def contended(request, pipeline_text):
    with World(Policy(pipeline=parse_pipeline(pipeline_text)), locking=request.param).entered() as entered:
        yield entered


@pytest.fixture
def crew(contended, tmp_path):
    """As many workers, each for a thread of its own."""

    def make(edit=None):
        handlers = {"edit": edit or writes(b"e"), "join": writes(b"j")}
        return [Actor(contended, handlers, tmp_path / "scratch", runtime=SystemRuntime()) for _ in range(WORKERS)]

    return make


def together(acts):
    """Run each in its own thread, started at once; what they returned or raised."""
    gate, found = threading.Barrier(len(acts)), [None] * len(acts)

    def run(at, act):
        gate.wait(10)
        try:
            found[at] = act()
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            found[at] = error

    threads = [threading.Thread(target=run, args=(at, act)) for at, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_of_all_who_claim_a_task_exactly_one_gets_it_race_1(contended, crew):
    contended.submit("j", "chain", {"s": {"n": 1}})
    (received,) = contended.queues.receive("q-edit", max_messages=1, wait_seconds=0)
    delivery = Delivery(received, contended.policy.pipeline.step("edit"), contended.queues, 0.0)
    message = parse_message(received.body)
    claims = together([lambda a=a: a.process.worker.claims.claim(delivery, message, "cor") for a in crew()])
    assert [claim for claim in claims if isinstance(claim, BaseException)] == []
    winners = [claim for claim in claims if isinstance(claim.decision, Claimed)]
    assert len(winners) == 1
    task = contended.task("j.s.edit")
    assert (task.executions, task.lease.token) == (1, winners[0].lease.token)


def test_dependencies_that_end_together_queue_their_successor_exactly_once_race_10(contended, crew):
    contended.submit("j", "fan", {f"s{number}": {"n": number} for number in range(WORKERS)})
    gate = threading.Barrier(WORKERS)
    workers = crew(edit=writes(b"e", lambda _: gate.wait(30)))
    for worker in workers:
        object.__setattr__(worker.process.receivers[0], "share", 1)
    together([lambda worker=worker: worker.poll("edit") for worker in workers])
    assert [worker.outcomes for worker in workers] == [[Outcome.COMPLETED]] * WORKERS
    assert contended.task("j.join").status is TaskStatus.QUEUED
    assert len(contended.sqs.peek("q-join")) == 1
    queued = [c for e in contended.documents("recoveryLog") for c in e["changes"] if c["path"] == "tasks/j.join"]
    assert Counter(change["after"] for change in queued)["queued"] <= 2  # queued once, then marked as sent


def test_last_tasks_that_end_together_end_the_job_exactly_once(contended, crew):
    contended.submit("j", "single", {f"s{number}": {"n": number} for number in range(WORKERS)})
    gate = threading.Barrier(WORKERS)
    workers = crew(edit=writes(b"e", lambda _: gate.wait(30)))
    for worker in workers:
        object.__setattr__(worker.process.receivers[0], "share", 1)
    together([lambda worker=worker: worker.poll("edit") for worker in workers])
    job = contended.job("j")
    assert job.status is JobStatus.COMPLETED
    assert {shot.status for shot in job.shots.values()} == {"completed"}
    ends = [c for e in contended.documents("recoveryLog") for c in e["changes"] if c["path"] == "jobs/j"]
    assert Counter((change["before"], change["after"]) for change in ends)["processing", "completed"] == 1
