"""Sequences of frames as one object: a zip of PNG files in order, the same bytes for the same frames."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from mos.domain.errors import AppError, FailureClass

MAX_FRAMES = 600
MAX_FRAME_BYTES = 64 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)


def unusable(problem: str) -> AppError:
    """The input itself is bad: another attempt would fail as well."""
    return AppError(problem, code="unusable_media", details={"failureClass": str(FailureClass.MEDIA_OR_TEMPLATE)})


def open_image(source: Path | io.BytesIO) -> Image.Image:
    """A decoded RGB image.

    Raises:
        AppError: it is no image, it is cut short, or it is absurdly large; class `media_or_template`.
    """
    try:
        with Image.open(source) as image:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise unusable(f"the input is not a usable image: {error}") from error


def write_frames(path: Path, frames: Iterable[Image.Image], checkpoint: Callable[[], None]) -> Path:
    """Pack frames; `checkpoint` is called after each."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for number, frame in enumerate(frames):
            data = io.BytesIO()
            frame.save(data, "PNG", compress_level=1)
            archive.writestr(zipfile.ZipInfo(f"{number:05d}.png", _EPOCH), data.getvalue())
            checkpoint()
    return path


def read_frames(path: Path) -> Iterator[Image.Image]:
    """The frames of a packed sequence, in order.

    Raises:
        AppError: it is not such a sequence; class `media_or_template`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if not 1 <= len(entries) <= MAX_FRAMES:
                raise unusable(f"a sequence has 1 to {MAX_FRAMES} frames, not {len(entries)}")
            for entry in entries:
                if entry.file_size > MAX_FRAME_BYTES:
                    raise unusable(f"frame {entry.filename!r} is larger than {MAX_FRAME_BYTES} bytes")
                yield open_image(io.BytesIO(archive.read(entry)))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise unusable(f"the input is not a sequence of frames: {error}") from error
