"""What an answer adds to what is stored of a submission."""

from __future__ import annotations

from typing import Any

from mos.domain.model import Render
from mos.domain.rendering import Known, Missing, UnknownAnswer, observe
from tests.builders import NOW, ago, ahead


def test_a_first_answer_is_a_change_and_the_same_again_is_none(make: Any) -> None:
    first = observe(make.render(executor=None), Known(make.record()), now=ago(minutes=3))
    assert (first.executor, first.last_change_at, first.missing_since) == ("i-1", ago(minutes=3), None)
    again = observe(first, Known(make.record()), now=NOW)
    assert (again.last_answer_at, again.last_change_at) == (NOW, ago(minutes=3))


def test_progress_state_and_time_are_changes(make: Any) -> None:
    first = observe(make.render(), Known(make.record()), now=ago(minutes=3))
    for record in (make.record(progress=34), make.record("started"), make.record(updated_at=NOW)):
        assert observe(first, Known(record), now=NOW).last_change_at == NOW


def test_missing_and_unknown_keep_their_beginnings(make: Any) -> None:
    missing = observe(observe(Render(uid="u1"), Missing(), now=ago(minutes=5)), Missing(), now=NOW)
    assert (missing.missing_since, missing.last_answer_at) == (ago(minutes=5), NOW)
    silent = observe(missing, UnknownAnswer("timeout"), now=ahead(minutes=1))
    silent = observe(silent, UnknownAnswer("timeout"), now=ahead(minutes=9))
    assert (silent.missing_since, silent.unanswered_since) == (ago(minutes=5), ahead(minutes=1))
    assert silent.last_answer_at == NOW
    assert observe(silent, Missing(), now=ahead(minutes=9)).unanswered_since is None
    found = observe(silent, Known(make.record()), now=ahead(minutes=9))
    assert (found.missing_since, found.unanswered_since) == (None, None)


def test_what_it_remembers_survives_the_store(make: Any) -> None:
    """The fingerprint is written with the document, under a name of the store's spelling."""
    first = observe(make.render(), Known(make.record()), now=NOW)
    stored = first.model_dump(by_alias=True, exclude_none=True)
    assert stored["seen"].startswith("render:dorender|")
    assert observe(Render.model_validate(stored), Known(make.record()), now=ahead(minutes=1)).last_change_at == NOW
