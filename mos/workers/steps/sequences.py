"""Steps on sequences: `video_generate` makes frames from an image, `shot_reorder` orders them. Deterministic."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image, ImageStat

from mos.domain.errors import FailureClass, ValidationError
from mos.workers.context import StepContext, StepOutput
from mos.workers.steps.frames import open_image, read_frames, write_frames
from mos.workers.steps.sources import fetch_source

FRAMES = 12
SIZE = (320, 180)
ZOOM = 0.25
"""Share of the frame that the camera moves in over the clip."""


def video_generate(context: StepContext) -> StepOutput:
    """A slow move into the image: the frames of a short clip."""
    image = open_image(fetch_source(context))
    frames = write_frames(context.scratch / "frames.zip", _move_in(image), context.checkpoint)
    return StepOutput(file=frames)


def shot_reorder(context: StepContext) -> StepOutput:
    """The frames in the order of `input.order` (positions), or from dark to light."""
    frames = list(read_frames(fetch_source(context)))
    context.checkpoint()
    order = _given_order(context, len(frames)) or sorted(range(len(frames)), key=lambda at: (_light(frames[at]), at))
    ordered = write_frames(context.scratch / "frames.zip", (frames[at] for at in order), context.checkpoint)
    return StepOutput(file=ordered)


def _move_in(image: Image.Image) -> Iterator[Image.Image]:
    for number in range(FRAMES):
        share = ZOOM * number / (FRAMES - 1) / 2
        left, top = image.width * share, image.height * share
        box = (left, top, image.width - left, image.height - top)
        yield image.resize(SIZE, Image.Resampling.BILINEAR, box=box)


def _light(frame: Image.Image) -> float:
    return float(ImageStat.Stat(frame.convert("L")).mean[0])


def _given_order(context: StepContext, count: int) -> list[int] | None:
    order = context.input.get("order")
    if order is None:
        return None
    if not isinstance(order, list) or sorted(order, key=str) != sorted(range(count), key=str):
        error = ValidationError.of_field("input.order", f"each position from 0 to {count - 1} once is needed")
        error.details["failureClass"] = str(FailureClass.MEDIA_OR_TEMPLATE)
        raise error
    return order
