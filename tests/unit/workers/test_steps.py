"""The shipped steps do real, deterministic work, reach checkpoints, and refuse what is no media."""

import io
import zipfile
from importlib import resources
from types import SimpleNamespace

import pytest
from PIL import Image

from mos.domain.errors import AppError, ValidationError
from mos.domain.pipeline import parse_pipeline
from mos.workers.context import StepContext
from mos.workers.steps import images, sequences
from mos.workers.steps.frames import read_frames, write_frames


class Objects:
    """Local files behind the one call that steps make."""

    def __init__(self, **objects):
        self.objects = objects

    def download(self, key, path):
        path.write_bytes(self.objects[key])
        return path


@pytest.fixture
def run(tmp_path):
    """Runs a step on one input; the bytes it put out and how often it reached a checkpoint."""

    def call(step, data, **given):
        reached = []
        scratch = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        context = StepContext(
            task_id="t",
            step=step.__name__,
            attempt=0,
            input={"sourceKey": "in.bin", **given},
            inputs={},
            scratch=scratch,
            storage=Objects(**{"in.bin": data}),
            log=SimpleNamespace(),
            checkpoint=lambda: reached.append(1),
        )
        return step(context).file.read_bytes(), len(reached)

    return call


def picture(size=(90, 160), kind="PNG"):
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    data = io.BytesIO()
    image.save(data, kind)
    return data.getvalue()


def frames_of(data, tmp_path):
    path = tmp_path / "look.zip"
    path.write_bytes(data)
    return list(read_frames(path))


CHAIN = [images.image_edit, images.frame_expand, sequences.video_generate, sequences.shot_reorder, images.upscale]


def test_the_whole_chain_turns_an_image_into_a_clip_the_same_each_time(run):
    ends = []
    for _ in range(2):
        data = picture()
        for step in CHAIN:
            data, reached = run(step, data)
            assert reached
        ends.append(data)
    assert ends[0] == ends[1]
    with Image.open(io.BytesIO(ends[0])) as clip:
        assert (clip.format, clip.n_frames, clip.size) == ("WEBP", sequences.FRAMES, (640, 360))


def test_frame_expand_makes_any_frame_16_to_9_around_the_whole_image(run):
    for size in [(90, 160), (160, 90), (100, 100), (1, 1)]:
        data, _ = run(images.frame_expand, picture(size))
        with Image.open(io.BytesIO(data)) as expanded:
            assert abs(expanded.width / expanded.height - 16 / 9) < (0.9 if size == (1, 1) else 0.04)
            assert (expanded.width % 2, expanded.height % 2) == (0, 0)
            assert expanded.width >= size[0]
            assert expanded.height >= size[1]


def test_image_edit_changes_the_image(run):
    data, _ = run(images.image_edit, picture())
    assert data != picture()


@pytest.mark.parametrize("order", [[1, 0, 2], None])
def test_shot_reorder_really_reorders(run, tmp_path, order):
    greys = [200, 100, 50]
    packed = write_frames(tmp_path / "in.zip", (Image.new("RGB", (4, 4), (g, g, g)) for g in greys), lambda: None)
    given = {} if order is None else {"order": order}
    data, _ = run(sequences.shot_reorder, packed.read_bytes(), **given)
    seen = [frame.getpixel((0, 0))[0] for frame in frames_of(data, tmp_path)]
    assert seen == ([100, 200, 50] if order else [50, 100, 200])


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], "210", [0, 1, 2, 3], [0, 1, True]])
def test_an_order_that_is_none_is_refused_as_bad_media(run, tmp_path, order):
    packed = write_frames(tmp_path / "in.zip", (Image.new("RGB", (2, 2)) for _ in range(3)), lambda: None)
    with pytest.raises(ValidationError, match=r"input\.order") as caught:
        run(sequences.shot_reorder, packed.read_bytes(), order=order)
    assert caught.value.details["failureClass"] == "media_or_template"


@pytest.mark.parametrize("step", CHAIN)
@pytest.mark.parametrize("data", [b"", b"not media", picture()[:-200], b"PK\x03\x04torn"])
def test_what_is_no_media_fails_for_good(run, step, data):
    with pytest.raises(AppError) as caught:
        run(step, data)
    assert caught.value.details["failureClass"] == "media_or_template"


def test_a_sequence_of_too_many_frames_or_bytes_is_refused(run, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.png", b"\0" * 1_000_000)
    monkeypatch.setattr("mos.workers.steps.frames.MAX_FRAME_BYTES", 1000)
    with pytest.raises(AppError, match="larger than"):
        run(images.upscale, packed.getvalue())


@pytest.mark.parametrize("source", [None, 7, "", ["a"]])
def test_a_missing_source_names_the_field(run, source):
    with pytest.raises(ValidationError, match=r"input\.sourceKey"):
        run(images.image_edit, b"", sourceKey=source)


def test_the_shipped_pipeline_names_these_steps():
    shipped = parse_pipeline(resources.files("mos").joinpath("pipeline.toml").read_text("utf-8"))
    served = [step.handler.rsplit(":", 1)[1] for step in shipped.steps.values() if step.handler]
    assert served == [step.__name__ for step in CHAIN]
