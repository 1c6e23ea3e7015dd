"""What the real nexrender core makes of each way a render can go. It is these claims that recovery must not believe."""

import signal
from pathlib import Path

import av
import pytest

from mos.local.farm.behaviour import Act, Behaviour

pytestmark = pytest.mark.xdist_group("farm")
IMAGES = sorted((Path(__file__).parents[3] / "mos" / "local" / "demo" / "images").glob("*.jpg"))


def frames(path: Path) -> list[int]:
    """The brightest value of each frame."""
    with av.open(str(path)) as clip:
        return [frame.to_image().convert("L").getextrema()[1] for frame in clip.decode(video=0)]


def test_a_job_of_images_becomes_a_playable_clip(farm, uid, tmp_path, rendered):
    record = rendered(farm, uid, tmp_path / "out.mp4", assets=IMAGES)
    assert (record.state, record.executor, record.errors) == ("finished", "i-0main", ())
    brightness = frames(tmp_path / "out.mp4")
    assert len(brightness) == 72
    assert min(brightness) > 32
    assert farm.starts(uid) == 1


def test_the_clip_is_made_of_the_jobs_images(farm, uid, tmp_path, rendered):
    rendered(farm, uid, tmp_path / "one.mp4", assets=IMAGES[:1])
    rendered(farm, f"{uid}b", tmp_path / "two.mp4", assets=IMAGES[1:2])
    assert (tmp_path / "one.mp4").read_bytes() != (tmp_path / "two.mp4").read_bytes()


@pytest.mark.parametrize("act", [Act.PARTIAL, Act.KILLED])
def test_a_torn_file_is_reported_finished_without_an_error_and_delivered(farm, uid, tmp_path, rendered, act):
    """aerender failed or was killed: `finished` is a claim, the output decides."""
    farm.script.for_uid(uid, Behaviour(act=act))
    record = rendered(farm, uid, tmp_path / "out.mp4")
    assert (record.state, record.errors) == ("finished", ())
    assert (tmp_path / "out.mp4").stat().st_size > 0
    with pytest.raises(av.error.FFmpegError):
        frames(tmp_path / "out.mp4")


def test_black_frames_are_reported_finished(farm, uid, tmp_path, rendered):
    farm.script.for_uid(uid, Behaviour(act=Act.BLACK))
    assert rendered(farm, uid, tmp_path / "out.mp4").state == "finished"
    assert max(frames(tmp_path / "out.mp4")) < 32


@pytest.mark.parametrize(
    ("act", "said"),
    [(Act.ERROR, "the composition could not be found"), (Act.DISK_FULL, "No space left on device")],
)
def test_an_error_text_comes_before_the_missing_file(farm, uid, tmp_path, rendered, act, said):
    farm.script.for_uid(uid, Behaviour(act=act))
    record = rendered(farm, uid, tmp_path / "out.mp4")
    assert record.state == "error"
    assert said in record.errors[0]
    assert "Couldn't find a result file" in record.errors[-1]
    assert not (tmp_path / "out.mp4").exists()


def test_no_file_and_no_text_leave_the_missing_file_as_the_only_error(farm, uid, tmp_path, rendered):
    farm.script.for_uid(uid, Behaviour(act=Act.NOTHING))
    record = rendered(farm, uid, tmp_path / "out.mp4")
    assert record.state == "error"
    assert len(record.errors) == 1
    assert "Couldn't find a result file" in record.errors[0]


def test_a_template_that_is_not_there_is_an_error_without_a_render(farm, uid, tmp_path, rendered):
    job = farm.job(uid, output=tmp_path / "out.mp4")
    job["template"]["src"] = (tmp_path / "gone.aepx").as_uri()
    record = rendered(farm, uid, job=job)
    assert record.state == "error"
    assert "ENOENT" in record.errors[0]
    assert farm.starts(uid) == 0


def test_a_render_that_hangs_before_its_first_frame_stays_active(farm, uid, tmp_path, client_of, record_of, wait):
    """No watchdog of nexrender sees it: only the age of the last change tells."""
    farm.script.for_uid(uid, Behaviour(act=Act.HANG))
    client_of(farm).submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: farm.starts(uid) == 1, "aerender started")
    record = record_of(farm, uid)
    assert (record.active, record.progress) == (True, None)
    farm.script.release(uid)
    wait(lambda: record_of(farm, uid).terminal, "the released render ended")
    assert frames(tmp_path / "out.mp4")


def test_the_next_render_takes_a_behaviour_once(farm, uid, tmp_path, rendered):
    farm.script.next(Behaviour(act=Act.ERROR))
    assert rendered(farm, uid, tmp_path / "one.mp4").state == "error"
    assert rendered(farm, f"{uid}b", tmp_path / "two.mp4").state == "finished"


def test_logs_of_renders_stay_in_the_root_of_the_work_folder(farm, uid, tmp_path, rendered):
    rendered(farm, uid, tmp_path / "out.mp4")
    work = farm.work("i-0main") / "work"
    assert (work / f"aerender-{uid}.log").exists()
    assert not (work / uid).exists()


def test_a_killed_worker_leaves_its_render_active_for_ever(own_farm, uid, tmp_path, client_of, record_of, wait):
    """SIGKILL mid-render: nobody else takes it, and After Effects itself lives on."""
    farm = own_farm("i-0a")
    client = client_of(farm)
    farm.script.for_uid(uid, Behaviour(act=Act.SLOW))
    client.submit(farm.job(uid, output=tmp_path / "out.mp4"))
    wait(lambda: record_of(farm, uid).state == "render:dorender", "the progress arrived")
    worker = farm.worker("i-0a")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    farm.start_worker("i-0b")
    rendered_next = f"{uid}b"
    client.submit(farm.job(rendered_next, output=tmp_path / "next.mp4"))
    wait(lambda: record_of(farm, rendered_next).terminal, "the other worker rendered something else")
    record = record_of(farm, uid)
    assert (record.state, record.executor, farm.starts(uid)) == ("render:dorender", "i-0a", 1)
    farm.script.release(uid)
    wait(lambda: any(line.uid == uid and line.event == "ended" for line in farm.script.journal()), "aerender ended")
    assert record_of(farm, uid).state == "render:dorender"
    assert not (tmp_path / "out.mp4").exists()
