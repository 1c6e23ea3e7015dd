"""Putting images into the pipeline as a real job: upload, one commit, dispatch."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from mos.bootstrap import App
from mos.domain.errors import ValidationError
from mos.domain.jobs import JobRequest
from mos.domain.model import Job
from mos.missions.base import run
from mos.missions.create_job import create_job

KIND = "base_clip_batch"
MAX_PIXELS = 50_000_000
"""A decompression bomb is refused before a worker meets it."""


class MissingFile(ValidationError):
    """A file that was named does not exist."""

    default_code = "missing_file"


@dataclass(frozen=True)
class Picture:
    """An image that was checked. `shot` is its shot's id."""

    path: Path
    shot: str
    suffix: str


def check_images(files: Sequence[Path]) -> list[Picture]:
    """The images, each decoded once.

    Raises:
        MissingFile: a file does not exist.
        ValidationError: a file is no image that can be read, or too large.
    """
    return [_check(path, number) for number, path in enumerate(files, start=1)]


def submit_images(
    app: App,
    files: Sequence[Path],
    *,
    job_id: str | None = None,
    kind: str = KIND,
    progress: Callable[[str], None] = lambda _: None,
) -> Job:
    """Upload the images and start their job; nothing is uploaded unless all of them are sound.

    Raises:
        ValidationError: an image or the id is not acceptable.
        AppError: a service did not answer; submitting again under the same id goes on where it stopped.
    """
    pictures = check_images(files)
    name = job_id or f"job-{app.runtime.new_id()[:10]}"
    shots = {}
    for picture in pictures:
        key = f"inputs/{name}/{picture.shot}{picture.suffix}"
        app.storage.upload(picture.path, key)
        shots[picture.shot] = {"sourceKey": key}
        progress(picture.path.name)
    request = JobRequest(job_id=name, kind=kind, shots=shots, correlation_id=app.runtime.new_id())
    job = create_job(app.gateway("submit"), app.policy, request).value
    run(app.dispatch())
    return job


def _check(path: Path, number: int) -> Picture:
    if not path.exists():
        raise MissingFile(f"{path} does not exist; name an image file")
    if not path.is_file():
        raise ValidationError(f"{path} is a directory or device; name image files", details={"field": path.name})
    try:
        with Image.open(path) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ValidationError.of_field(path.name, f"{image.width} × {image.height} pixels are too many")
            image.load()  # decodes it: a file that ends early is refused here, not by a worker
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        problem = "it is cut off or damaged" if isinstance(error, OSError) and "truncated" in str(error) else "no image"
        raise ValidationError(f"{path} cannot be read as an image: {problem}", details={"field": path.name}) from error
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:24] or "image"
    return Picture(path, f"s{number:02d}-{stem}", path.suffix.lower() if path.suffix.isascii() else "")
