"""The parts that carry the server: sorted keys, history, field paths, resource names, the clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mos.local.firestore import fields, names, sortedkeys
from mos.local.firestore.clock import CommitClock, micros
from mos.local.firestore.errors import Refused
from mos.local.firestore.history import History
from mos.local.firestore.mutation import Doc
from mos.local.firestore.sortedkeys import SortedKeys

KEYS = st.binary(max_size=2)


@given(st.lists(KEYS, max_size=60), st.lists(st.tuples(st.booleans(), KEYS), max_size=80), KEYS, KEYS)
def test_sorted_keys_behave_like_a_sorted_dictionary(
    start: list[bytes], steps: list[tuple[bool, bytes]], low: bytes, high: bytes
) -> None:
    block, sortedkeys.BLOCK = sortedkeys.BLOCK, 4
    try:
        model = dict.fromkeys(start, 0)
        keys: SortedKeys[int] = SortedKeys(model.items())
        for number, (adds, key) in enumerate(steps):
            if adds:
                model[key] = number
                keys.put(key, number)
            elif key in model:
                del model[key]
                keys.remove(key)
        wanted = [pair for pair in sorted(model.items()) if low <= pair[0] < high]
        assert list(keys.scan()) == sorted(model.items())
        assert list(keys.scan(low, high)) == wanted
        assert max(0, keys.count(low, high)) == len(wanted)
        assert len(keys) == len(model)
    finally:
        sortedkeys.BLOCK = block


def test_removing_a_key_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        SortedKeys([(b"b", 1)]).remove(b"a")


def version(at: int) -> Doc:
    return Doc(name="n", key=b"", data=b"x" * 10, created=1, updated=at)


def test_history_gives_the_version_of_each_time() -> None:
    history = History()
    history.add("n", None, 10)
    history.add("n", version(10), 20)
    current = version(20)
    seen = [history.at("n", current, time) for time in (9, 10, 19, 20, 99)]
    assert [doc and doc.updated for doc in seen] == [None, 10, 10, 20, 20]
    assert history.since(9) == history.since(10) == {"n"}
    assert history.since(20) == set()


@pytest.mark.parametrize(
    "limits", [{"retention": 5}, {"max_versions": 3}, {"max_bytes": 35}], ids=["age", "versions", "bytes"]
)
def test_history_is_bounded_and_says_how_far_it_reaches(limits: dict[str, int]) -> None:
    history = History(**limits)
    for at in range(1, 10_000):
        history.add("n", version(at), at)
        history.prune(at)
    assert len(history) <= 6
    assert history.horizon >= 9_990
    assert history.at("n", version(10_000), 9_999).updated == 10_000


@pytest.mark.parametrize(
    ("text", "path"),
    [("a", ("a",)), ("a.b", ("a", "b")), ("`a.b`.c", ("a.b", "c")), ("`\\``", ("`",)), ("_1.`1a`", ("_1", "1a"))],
)
def test_field_paths_are_split_and_rendered(text: str, path: tuple[str, ...]) -> None:
    assert fields.parse(text) == path
    assert fields.render(path) == text


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "`a", "1a", "a b", "``"])
def test_malformed_field_paths_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        fields.parse(text)


@pytest.mark.parametrize("name", ["", "projects/p", "projects/p/databases/d/documents/a//b", "x/p/databases/d/x"])
def test_malformed_resource_names_are_refused(name: str) -> None:
    with pytest.raises(Refused):
        names.parse(name)


def test_a_collection_is_no_document() -> None:
    with pytest.raises(Refused):
        names.document("projects/p/databases/d/documents/c")


def test_no_commit_can_equal_a_time_that_was_read() -> None:
    """A snapshot at a read time never changes afterwards, even when the clock stands still."""
    clock = CommitClock(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    read = clock.read_time()
    assert read == micros(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock.commit_time() > read
