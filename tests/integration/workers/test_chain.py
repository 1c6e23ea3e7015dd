"""The happy path: a chain and a fan-in, from the first message to the completed job."""

from mos.domain.model import JobStatus, ShotStatus, TaskStatus
from mos.workers.outcomes import Outcome


def test_a_chain_runs_to_its_end_and_completes_shot_and_job(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})
    worker = actor()
    assert worker.poll("edit") == [Outcome.COMPLETED]
    assert worker.poll("join") == [Outcome.COMPLETED]
    job = world.job("j")
    assert (job.status, job.shots["s"].status) == (JobStatus.COMPLETED, ShotStatus.COMPLETED)
    assert world.objects.get(job.shots["s"].output_key) == b"joined"
    assert all(task.status is TaskStatus.COMPLETED and task.lease is None for task in world.tasks())
    assert [world.queues.depth(queue).total for queue in ("q-edit", "q-join")] == [0, 0]
    assert job.error_count == 0


def test_a_fan_in_is_queued_once_by_the_last_of_its_dependencies(world, actor):
    world.submit("j", "fan", {"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}})
    worker = actor()
    assert worker.poll("edit") == [Outcome.COMPLETED] * 3
    assert world.queues.depth("q-join").total == 1
    assert worker.poll("join") == [Outcome.COMPLETED]
    assert world.job("j").status is JobStatus.COMPLETED
