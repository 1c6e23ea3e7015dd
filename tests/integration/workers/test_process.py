"""Real processes: a worker against the embedded Firestore and moto, with real signals."""

import io
import os
import signal
import subprocess
import sys
import time

import pytest
from PIL import Image

from mos.bootstrap import App
from mos.clients.aws import make_boto_client
from mos.domain.model import JobStatus, Task, TaskStatus
from mos.local.aws.queues import ensure_queues
from mos.local.aws.server import AwsServer
from mos.local.firestore.testing import server
from mos.local.provision import queue_specs
from mos.local.simulation.jobs import start_job
from mos.runtime import SystemRuntime
from mos.settings import read_settings
from mos.store.documents import read
from mos.workers.__main__ import main
from mos.workers.outbox import Outbox

STEP = """
[steps.{name}]
queue = "{queue}"
visibility_seconds = 300
running_ttl_seconds = 3600
pickup_ttl_seconds = 1800
rerunnable = true
handler = "mos.workers.steps.images:{name}"
"""
DEADLINE = 45.0
pytestmark = pytest.mark.xdist_group("worker-processes")


@pytest.fixture(scope="module")
def services():
    """The addresses of a Firestore and an AWS server."""
    aws = AwsServer("127.0.0.1")
    aws.start()
    monkey = pytest.MonkeyPatch()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkey.setenv(name, "local")
    make_boto_client("s3", endpoint_url=aws.url, region="us-east-1").create_bucket(Bucket="mos-media")
    with server("--memory") as firestore:
        yield {"FIRESTORE_EMULATOR_HOST": firestore.address, "AWS_ENDPOINT_URL": aws.url}
    aws.stop()
    monkey.undo()


@pytest.fixture
def environment(services, tmp_path, monkeypatch):
    """A stack's environment: the demo's time, a pipeline of one step."""
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(
        STEP.format(name="image_edit", queue=f"q-{abs(hash(tmp_path))}") + '[kinds.one]\nchain = ["image_edit"]\n'
    )
    variables = services | {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "us-east-1",
        "MOS_PROJECT": f"p-{tmp_path.name.replace('_', '-')}"[:30].lower().rstrip("-"),
        "MOS_PIPELINE": str(pipeline),
        "MOS_TIME_SCALE": "0.0166",
        "MOS_SCRATCH": str(tmp_path / "scratch"),
        "SQS_LONG_POLL_SECONDS": "1",
        "WORKER_LIVENESS_FILE": str(tmp_path / "alive"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def app(environment):
    joined = App(read_settings(environment), SystemRuntime())
    sqs = make_boto_client("sqs", endpoint_url=environment["AWS_ENDPOINT_URL"], region="us-east-1")
    ensure_queues(sqs, queue_specs(joined.policy.pipeline))
    return joined


@pytest.fixture
def worker(environment):
    """Starts a worker process, ready."""
    started = []

    def start(**variables):
        process = subprocess.Popen(
            [sys.executable, "-m", "mos.workers"],
            env={**os.environ, **environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        line = process.stdout.readline()
        assert line.startswith("worker ready "), process.stderr.read()
        return process, line.split()[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def submitted(app, request):
    """A job of one image, sent; its task's id."""
    job_id = f"job-{request.node.name[:40].replace('[', '-').replace(']', '')}"
    image = io.BytesIO()
    Image.effect_noise((64, 48), 60).convert("RGB").save(image, "PNG")
    app.storage.put(f"inputs/{job_id}.png", image.getvalue())
    gateway = app.gateway("test")
    tasks = start_job(gateway, app.policy, job_id, "one", {"s": {"sourceKey": f"inputs/{job_id}.png"}})
    Outbox(queues=app.queues, gateway=gateway, policy=app.policy).send(tasks)
    return tasks[0].id


def task_of(app, name):
    return read(Task, app.firestore.collection("tasks").document(name).get())


def wait_for(condition):
    """Poll a condition until it holds."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("the condition did not come true in time")


def running_under(app, name, owner):
    task = task_of(app, name)
    return task.status is TaskStatus.RUNNING and task.lease.owner == owner and task


def completed(app, name):
    task = task_of(app, name)
    return task.status is TaskStatus.COMPLETED and task


def test_what_a_killed_worker_left_is_taken_over_and_done_once(app, worker, submitted):
    victim, owner = worker(WORKER_STEP_SECONDS="60")
    wait_for(lambda: running_under(app, submitted, owner))
    victim.kill()
    worker()
    task = wait_for(lambda: completed(app, submitted))
    assert (task.executions, task.reap_count, task.failures) == (2, 1, 0)
    assert app.storage.exists(task.output_key)
    job = app.firestore.collection("jobs").document(task.job_id).get()
    assert job.get("status") == JobStatus.COMPLETED


def test_a_terminated_worker_gives_its_task_back_at_once_and_exits_clean(app, worker, submitted, tmp_path):
    drained, owner = worker(WORKER_STEP_SECONDS="60", WORKER_DRAIN_SECONDS="0")
    wait_for(lambda: running_under(app, submitted, owner))
    assert (tmp_path / "alive").exists()
    drained.terminate()
    assert drained.wait(DEADLINE) == 0
    task = task_of(app, submitted)
    assert (task.status, task.failures, task.reap_count, task.executions) == (TaskStatus.QUEUED, 0, 0, 1)
    record = app.firestore.collection("workers").document(owner).get().to_dict()
    assert (record["stopReason"], record["inFlight"]) == ("SIGTERM", 0)
    assert record["stoppedAt"]
    worker()
    assert wait_for(lambda: completed(app, submitted)).executions == 2


def test_a_second_signal_exits_at_once(app, worker, submitted):
    process, owner = worker(WORKER_STEP_SECONDS="60", WORKER_DRAIN_SECONDS="100")
    wait_for(lambda: running_under(app, submitted, owner))
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "draining" in process.stderr.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 1


BAD = {
    "SQS_VISIBILITY_TIMEOUT_SECONDS": "soon",
    "SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS": "400000",
    "SQS_RETRY_VISIBILITY_BASE_SECONDS": "1000",
    "SQS_RETRY_JITTER": "2",
    "WORKER_CONCURRENCY": "0",
    "WORKER_DRAIN_SECONDS": "-1",
    "WORKER_STEPS": "image_edit,paint",
    "MOS_PIPELINE": "/nonexistent/pipeline.toml",
    "MOS_TIME_SCALE": "7",
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_setting_is_one_sentence_that_names_it(environment, monkeypatch, capsys, name):
    monkeypatch.setenv(name, BAD[name])
    assert main([]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert name in said[0]


def test_a_heartbeat_above_half_of_the_window_is_warned_about(environment, monkeypatch, capsys):
    monkeypatch.setenv("SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS", "200000")
    monkeypatch.setenv("WORKER_STEPS", "paint")
    assert main([]) == 1
    assert "above half of the window" in capsys.readouterr().err


def test_a_handler_that_cannot_be_imported_is_named(environment, monkeypatch, capsys, tmp_path):
    broken = STEP.format(name="image_edit", queue="q").replace("steps.images", "steps.nowhere")
    (tmp_path / "pipeline.toml").write_text(broken + '[kinds.one]\nchain = ["image_edit"]\n')
    assert main([]) == 1
    assert "mos.workers.steps.nowhere:image_edit" in capsys.readouterr().err


def test_a_store_that_cannot_be_reached_at_the_start_is_one_sentence(environment, monkeypatch, capsys):
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:9")
    assert main([]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("the worker did not start: workers/")


def test_missing_credentials_are_one_sentence(environment, monkeypatch, capsys):
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key.json")
    assert main([]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "GOOGLE_APPLICATION_CREDENTIALS" in said[0]


def test_help_lists_every_setting_and_an_example(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "example:" in text
    assert "WORKER_CONCURRENCY" in text


def test_importing_a_worker_starts_nothing():
    code = "import threading, mos.workers.__main__, mos.workers.steps.images; print(threading.active_count())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("1", "")
