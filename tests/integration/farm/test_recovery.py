"""Render recovery's decision, fed by what the real farm answers; and results that go to object storage."""

from datetime import timedelta
from importlib import resources

import av
import pytest

from mos.clients.aws import make_boto_client
from mos.domain.findings import FindingCode
from mos.domain.model import Render, RenderAttempt
from mos.domain.pipeline import parse_pipeline
from mos.domain.policy import Policy
from mos.domain.rendering import (
    HostLoss,
    Need,
    Output,
    OutputSeen,
    RenderActKind,
    RenderEvidence,
    RenderLimits,
    StoreSeen,
    decide_render,
    observe,
)
from mos.local.aws.server import AwsServer
from mos.local.farm.behaviour import Act, Behaviour
from tests.builders import NOW, ago, task

pytestmark = pytest.mark.xdist_group("farm")
K = RenderActKind


@pytest.fixture
def decide(client_of, tmp_path):
    """Gather what is asked for from the farm, round by round, as the mission does; the decision at `now`."""
    policy = Policy(pipeline=parse_pipeline(resources.files("mos").joinpath("pipeline.toml").read_text("utf-8")))

    def run(farm, uid, *, now=NOW, **render):
        client = client_of(farm)
        attempts = [RenderAttempt(uid=uid, submitted_at=ago(minutes=30))]
        given = {"uid": uid, "submitted_at": ago(minutes=30), "last_polled_at": now, "attempts": attempts}
        found = task(
            "running", id="j.render", shot_id=None, step_type="render", lease=None, render=Render(**(given | render))
        )
        known = {"hosts": {"i-0a": HostLoss(NOW)}} if "executor" in render else {}
        for _ in range(4):
            act = decide_render(found, RenderEvidence(**known), now=now, limits=RenderLimits(), policy=policy)
            match act.needs:
                case None:
                    return act
                case Need.ANSWER:
                    known["answers"] = {uid: client.get(uid)}
                case Need.OUTPUT:
                    there = (tmp_path / "out.mp4").exists()
                    known["outputs"] = {uid: OutputSeen(Output.SOUND if there else Output.ABSENT, "out.mp4")}
                case Need.STORE:
                    known["store"] = StoreSeen(
                        healthy=client.health().ok, census=client.census(), active=frozenset({uid})
                    )
        raise AssertionError("a fifth round")

    return run


@pytest.fixture
def under_way(own_farm, uid, tmp_path, client_of, record_of, wait):
    """A farm that is rendering and holds after its first frame."""
    farm = own_farm("i-0a")
    farm.script.for_uid(uid, Behaviour(act=Act.SLOW))
    client_of(farm).submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: record_of(farm, uid).state == "render:dorender", "the render is under way")
    wait(lambda: farm.database.exists() and "render:dorender" in farm.database.read_text(), "the file was written")
    return farm


def test_an_emptied_store_freezes_until_the_live_render_delivers_and_is_adopted(under_way, uid, decide, wait):
    farm = under_way
    farm.stop_server()
    assert decide(farm, uid, unanswered_since=ago(minutes=9)).kind is K.LEAVE
    farm.database.write_bytes(b"")
    farm.start_server()
    frozen = decide(farm, uid, missing_since=ago(minutes=9))
    assert (frozen.kind, frozen.sighting.code) == (K.LEAVE, FindingCode.RENDER_STORE_LOST)
    farm.script.release(uid)
    wait(lambda: f"[{uid}] cleaning up" in farm.log("i-0a"), "the render delivered")
    assert decide(farm, uid, missing_since=ago(minutes=9)).kind is K.ADOPT
    assert farm.starts(uid) == 1


def test_a_render_that_died_with_its_worker_comes_back_only_when_its_host_is_known_lost(
    under_way, uid, decide, client_of
):
    farm = under_way
    seen = observe(Render(uid=uid), client_of(farm).get(uid), now=ago(minutes=25))
    farm.worker("i-0a").kill()
    farm.worker("i-0a").wait()
    quiet = {"last_change_at": seen.last_change_at, **(seen.model_extra or {})}
    assert decide(farm, uid, unanswered_since=ago(minutes=9), **quiet).kind is K.LEAVE
    late = NOW + timedelta(hours=9)
    stuck = decide(farm, uid, now=late, **quiet)
    assert (stuck.kind, stuck.sighting.code) == (K.LEAVE, FindingCode.RENDER_STUCK)
    back = decide(farm, uid, now=NOW + timedelta(minutes=2), executor="i-0a", **quiet)
    assert (back.kind, back.outcome) == (K.SUBMIT, "host restarted")


def test_an_output_whose_last_report_was_lost_is_adopted(under_way, uid, decide, client_of, wait):
    farm = under_way
    seen = observe(Render(uid=uid), client_of(farm).get(uid), now=ago(minutes=25))
    farm.stop_server()
    farm.script.release(uid)
    wait(lambda: f"[{uid}] abandoned" in farm.log("i-0a"), "the worker gave up on its record")
    farm.start_server()
    quiet = {"last_change_at": seen.last_change_at, **(seen.model_extra or {})}
    act = decide(farm, uid, now=NOW + timedelta(minutes=2), executor="i-0a", **quiet)
    assert (act.kind, act.output_key) == (K.ADOPT, "out.mp4")


def test_a_result_goes_to_object_storage_under_a_key_with_its_uid(own_farm, uid, tmp_path, monkeypatch, rendered):
    """By nexrender's own upload action, as in production."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    server = AwsServer()
    server.start()
    s3 = make_boto_client("s3", endpoint_url=server.url, region="us-east-1")
    try:
        s3.create_bucket(Bucket="media")
        farm = own_farm("i-0a")
        job = farm.job(uid, output=tmp_path / "unused.mp4")
        upload = {"bucket": "media", "key": f"renders/{uid}.mp4", "endpoint": server.url, "region": "us-east-1"}
        job["actions"]["postrender"] = [
            {"module": "@nexrender/action-upload", "input": "result.mp4", "provider": "s3", "params": upload}
        ]
        record = rendered(farm, uid, job=job)
        assert (record.state, record.errors) == ("finished", ())
        s3.download_file("media", f"renders/{uid}.mp4", str(tmp_path / "got.mp4"))
        with av.open(str(tmp_path / "got.mp4")) as clip:
            assert sum(1 for _ in clip.decode(video=0)) == 72
    finally:
        s3.close()
        server.stop()
