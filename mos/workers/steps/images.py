"""Steps on images: `image_edit`, `frame_expand`, `upscale`. Deterministic: equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image, ImageFilter, ImageOps

from mos.workers.context import StepContext, StepOutput
from mos.workers.steps.frames import open_image, read_frames
from mos.workers.steps.sources import fetch_source

LONGEST_SIDE = 640
"""Pixels of the working copy; the local stack's steps are real but small."""
WIDE = (16, 9)
FRAME_MS = 80
FACTOR = 2


def image_edit(context: StepContext) -> StepOutput:
    """Level the tones and sharpen a working copy of the customer's image."""
    image = ImageOps.exif_transpose(open_image(fetch_source(context)))
    context.checkpoint()
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    edited = ImageOps.autocontrast(image, cutoff=1).filter(ImageFilter.UnsharpMask(radius=2, percent=80))
    context.checkpoint()
    return _png(context, edited)


def frame_expand(context: StepContext) -> StepOutput:
    """Expand the frame to 16:9 over a blurred copy of itself."""
    image = open_image(fetch_source(context))
    context.checkpoint()
    width, height = _wide(image)
    backdrop = ImageOps.fit(image, (width, height)).filter(ImageFilter.GaussianBlur(radius=12))
    backdrop.paste(image, ((width - image.width) // 2, (height - image.height) // 2))
    context.checkpoint()
    return _png(context, backdrop)


def upscale(context: StepContext) -> StepOutput:
    """Double every frame and put the clip out as an animated WebP."""
    frames = list(_larger(context))
    path = context.scratch / "clip.webp"
    frames[0].save(path, "WEBP", save_all=True, append_images=frames[1:], duration=FRAME_MS, quality=80, method=0)
    context.checkpoint()
    return StepOutput(file=path)


def _larger(context: StepContext) -> Iterator[Image.Image]:
    for frame in read_frames(fetch_source(context)):
        yield frame.resize((frame.width * FACTOR, frame.height * FACTOR), Image.Resampling.LANCZOS)
        context.checkpoint()


def _wide(image: Image.Image) -> tuple[int, int]:
    """The smallest 16:9 frame around an image, with even sides."""
    across, down = WIDE
    width = max(image.width, -(-image.height * across // down))
    height = max(image.height, -(-width * down // across))
    return width + width % 2, height + height % 2


def _png(context: StepContext, image: Image.Image) -> StepOutput:
    path = context.scratch / "output.png"
    image.save(path, "PNG", compress_level=3)
    return StepOutput(file=path)
