"""Images are checked before anything is uploaded: what a worker could not read is refused with its reason."""

from __future__ import annotations

import pytest
from PIL import Image

from mos.cli.app import run
from mos.cli.exits import Exit
from mos.domain.errors import ValidationError
from mos.local.submission import MissingFile, check_images


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "Küche & Garten.JPG"
    Image.effect_noise((320, 200), 60).convert("RGB").save(path, "JPEG")
    return path


def test_a_sound_image_becomes_a_shot_with_a_plain_name(photo):
    (picture,) = check_images([photo])
    assert (picture.shot, picture.suffix) == ("s01-k-che-garten", ".jpg")


def test_a_truncated_image_is_refused_here_not_by_a_worker(photo):
    photo.write_bytes(photo.read_bytes()[:2000])
    with pytest.raises(ValidationError, match="cut off or damaged"):
        check_images([photo])


@pytest.mark.parametrize("content", [b"", b"just text", b"\x00" * 100])
def test_what_is_no_image_is_refused(tmp_path, content):
    path = tmp_path / "text.jpg"
    path.write_bytes(content)
    with pytest.raises(ValidationError, match=r"text\.jpg cannot be read as an image: no image"):
        check_images([path])


def test_a_directory_and_a_missing_file_are_told_apart(tmp_path):
    with pytest.raises(ValidationError, match="is a directory"):
        check_images([tmp_path])
    with pytest.raises(MissingFile, match="does not exist"):
        check_images([tmp_path / "nowhere.jpg"])


def test_an_image_with_too_many_pixels_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "wide.png"
    Image.new("1", (400, 300)).save(path)
    monkeypatch.setattr("mos.local.submission.MAX_PIXELS", 1000)
    with pytest.raises(ValidationError, match="too many"):
        check_images([path])


def test_a_bad_setting_is_said_before_the_stack_starts_anything(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SQS_RETRY_JITTER", "lots")
    assert run(["up"]) == Exit.USAGE
    said = capsys.readouterr().err
    assert said.startswith("mos: SQS_RETRY_JITTER: ")
    assert "Traceback" not in said
