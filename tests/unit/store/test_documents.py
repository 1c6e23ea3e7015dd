"""Between Firestore's documents and the domain's values."""

from __future__ import annotations

from google.cloud.firestore_v1 import DELETE_FIELD

from mos.domain.model import SendState, Shot, TaskStatus
from mos.store.documents import difference, encode, path_of
from tests.builders import NOW, job, lease, task


def test_enums_are_texts_and_tuples_lists_at_every_depth() -> None:
    given = {"a": TaskStatus.QUEUED, "b": (1, {"c": [SendState.SENT]}), "d": NOW}
    encoded = encode(given)
    assert encoded == {"a": "queued", "b": [1, {"c": ["sent"]}], "d": NOW}
    assert type(encoded["a"]) is str
    assert type(encoded["b"][1]["c"][0]) is str


def test_only_what_changed_is_written_and_what_was_unset_is_deleted() -> None:
    before = task("running", lease=lease(), depends_on=("a",))
    after = before.replace(status="queued", lease=None, depends_on=("a", "b"))
    assert difference(before, after) == {"status": "queued", "dependsOn": ["a", "b"], "lease": DELETE_FIELD}
    assert difference(before, before) == {}


def test_a_changed_map_is_written_whole_with_what_it_came_with() -> None:
    before = job(shots={"s1": Shot(status="pending", editor="kim"), "s2": Shot()})
    after = before.replace(shots=before.shots | {"s2": Shot(status="failed")})
    assert difference(before, after) == {
        "shots": {"s1": {"status": "pending", "editor": "kim"}, "s2": {"status": "failed"}}
    }


def test_a_document_stands_in_its_collection() -> None:
    assert (path_of(task()), path_of(job())) == ("tasks/j.s1.upscale", "jobs/j")
