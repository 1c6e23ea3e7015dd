"""Tiny real clips: H.264 in MP4 or MOV, made of pictures."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import av
from PIL import Image, UnidentifiedImageError

FRAMES_PER_SECOND = 24
SECONDS = 3
SIZE = (160, 90)
_CODECS = {"mp4": "libx264", "mov": "libx264", "avi": "mpeg4"}
_PICTURES = frozenset({".jpg", ".jpeg", ".png"})
_CLIPS = frozenset({".mp4", ".mov"})


def pictures_beside(project: Path) -> list[Image.Image]:
    """One picture of every image and clip in the project's folder, in the order of their names."""
    found = []
    for path in sorted(project.parent.iterdir()):
        picture = None if path.name.startswith("result") else _picture(path)
        if picture is not None:
            found.append(picture.convert("RGB").resize(SIZE))
    return found


def _picture(path: Path) -> Image.Image | None:
    try:
        if path.suffix.lower() in _PICTURES:
            return Image.open(path)
        if path.suffix.lower() in _CLIPS:
            with av.open(str(path)) as clip:
                first: Image.Image = next(clip.decode(video=0)).to_image()  # type: ignore[no-untyped-call]
                return first
    except (UnidentifiedImageError, av.error.FFmpegError, StopIteration):
        return None
    return None


def sample_picture(seed: str) -> Image.Image:
    """A coloured gradient that differs from seed to seed."""
    hue = sum(seed.encode()) % 256
    gradient = Image.linear_gradient("L").resize(SIZE)
    flat = Image.new("L", SIZE, hue)
    return Image.merge("RGB", (gradient, flat, gradient.transpose(Image.Transpose.ROTATE_180)))


def black_picture() -> Image.Image:
    """What a host with a full disk renders."""
    return Image.new("RGB", SIZE)


def encode(pictures: Sequence[Image.Image], extension: str) -> bytes:
    """A clip of `SECONDS` that shows each picture equally long."""
    target = io.BytesIO()
    with av.open(target, "w", format=extension) as clip:
        stream = cast("av.VideoStream", clip.add_stream(_CODECS[extension], rate=FRAMES_PER_SECOND))
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for picture in _spread(pictures):
            clip.mux(stream.encode(av.VideoFrame.from_image(picture)))  # type: ignore[no-untyped-call]
        clip.mux(stream.encode())
    return target.getvalue()


def _spread(pictures: Sequence[Image.Image]) -> Iterator[Image.Image]:
    total = FRAMES_PER_SECOND * SECONDS
    for number in range(total):
        yield pictures[number * len(pictures) // total]
