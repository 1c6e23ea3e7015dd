"""S3 as the product uses it: safe keys, streaming, whole files or none, errors that say what happened."""

import pytest
from botocore.exceptions import ConnectTimeoutError

from mos.clients.s3 import check_key, write_atomically
from mos.domain.errors import StorageError, ValidationError

BAD_KEYS = [
    "", "/", "/etc/passwd", "a//b", "a/", "..", "a/../b", "./a", "a\\b", "a\x00b", "a\nb", "\ud800", "a/" * 600 + "b",
]  # fmt: skip


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_key_that_is_no_plain_relative_path_is_refused_before_any_call(world, key):
    calls = []
    world.io = lambda site, do: calls.append(site) or do()
    for act in (world.storage.get, world.storage.size, lambda key: world.storage.put(key, b"x")):
        with pytest.raises(ValidationError, match="key"):
            act(key)
    assert calls == []


@pytest.mark.parametrize("key", ["a", "a/b.png", "results/j.s.edit/0/x y.webp", "..a", "ü/é"])
def test_plain_relative_paths_are_keys(key):
    assert check_key(key) == key


def test_what_was_put_is_got(world, tmp_path):
    (tmp_path / "in").write_bytes(b"hello")
    world.storage.upload(tmp_path / "in", "a/b")
    assert world.storage.get("a/b") == b"hello"
    assert world.storage.download("a/b", tmp_path / "out").read_bytes() == b"hello"
    assert (world.storage.size("a/b"), world.storage.exists("a/b")) == (5, True)


def test_an_empty_object_does_not_count_as_there(world):
    world.storage.put("a", b"")
    assert (world.storage.size("a"), world.storage.exists("a")) == (0, False)


def test_a_missing_object_says_so(world, tmp_path):
    assert world.storage.size("a") is None
    with pytest.raises(StorageError) as caught:
        world.storage.download("a", tmp_path / "out")
    assert caught.value.code == "not_found"
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_is_cut_leaves_no_file(world, tmp_path):
    world.storage.put("a", b"x" * 100)

    class Cut:
        def read(self, *_):
            raise OSError(104, "reset by peer")

    def cut(parsed, **_):
        parsed.update(Body=Cut())

    events = world.storage._client.meta.events
    events.register("after-call.s3.GetObject", cut)
    try:
        with pytest.raises(StorageError, match="failed"):
            world.storage.download("a", tmp_path / "out")
    finally:
        events.unregister("after-call.s3.GetObject", cut)
    assert list(tmp_path.iterdir()) == []


def test_a_service_that_cannot_be_reached_is_a_storage_error(world):
    def cut(site, do):
        raise ConnectTimeoutError(endpoint_url="https://s3")

    world.io = cut
    with pytest.raises(StorageError) as caught:
        world.storage.put("a", b"x")
    assert (caught.value.code, caught.value.retryable) == ("connection", True)


def test_an_unknown_bucket_is_named_by_its_code(world):
    world.storage._bucket = "nowhere"
    with pytest.raises(StorageError) as caught:
        world.storage.put("a", b"x")
    assert (caught.value.code, caught.value.retryable) == ("NoSuchBucket", False)


def test_a_file_that_cannot_be_read_is_named_by_its_errno(world, tmp_path):
    with pytest.raises(StorageError) as caught:
        world.storage.upload(tmp_path / "missing", "a")
    assert caught.value.code == "errno_2"


def test_a_local_file_appears_whole(tmp_path):
    assert write_atomically(tmp_path / "a", b"x").read_bytes() == b"x"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
