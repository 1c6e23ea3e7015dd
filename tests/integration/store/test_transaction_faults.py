"""Every fault of the stock client ends with the right answer: success as success, failure as failure, nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mos.domain.changes import Commit, TaskChange
from mos.domain.errors import LawViolation, PipelineStateError, StateStoreError, UnknownOutcome
from mos.domain.model import Task
from mos.domain.transitions import By
from tests.builders import NOW, job, lease, task
from tests.integration.store.conftest import Script, Store, passed, refused, unanswered

ID = "j.s1.upscale"


@pytest.fixture
def claimed(store: Store) -> Store:
    """A queued task, to be claimed once."""
    store.put(task("queued"), job())
    return store


def claim(store: Store) -> Any:
    """Counts what a second application would count twice."""

    def body(reader: Any) -> tuple[Commit | None, str]:
        before = reader.task(ID)
        if before.status == "running":
            return None, "somebody runs it"
        after = before.replace(status="running", lease=lease(ends=reader.now), executions=before.executions + 1)
        return Commit(By.WORKER, "claim", "c", tasks=(TaskChange(before, after, "claimed"),)), "claimed"

    return store.gateway.transact(body)


def assert_applied_once(store: Store, outcome: Any) -> None:
    assert (outcome.value, outcome.changed) == ("claimed", True)
    assert outcome.at is not None
    stored = store.raw(f"tasks/{ID}")
    assert (stored["status"], stored["executions"], stored["opToken"]) == ("running", 1, outcome.token)
    assert len(store.log()) == 1
    assert store.script.spent


def assert_not_applied(store: Store) -> None:
    stored = store.raw(f"tasks/{ID}")
    assert (stored["status"], stored["executions"]) == ("queued", 0)
    assert store.log() == []
    assert store.script.spent


Fault = Callable[[Any], Any]
APPLIED_OR_RETRIED: dict[str, dict[str, list[Fault]]] = {
    "no fault": {},
    "ABORTED on a read": {"BatchGetDocuments": [refused("ABORTED")]},
    "ABORTED on a read, four times": {"BatchGetDocuments": [refused("ABORTED")] * 4},
    "ABORTED on commit, twice": {"Commit": [refused("ABORTED")] * 2},
    "ABORTED on commit, five times": {"Commit": [refused("ABORTED")] * 5},
    "BeginTransaction refused": {"BeginTransaction": [refused("UNAVAILABLE")] * 2},
    "BeginTransaction refused with INTERNAL": {"BeginTransaction": [refused("INTERNAL")]},
    "commit applied, reply UNAVAILABLE": {"Commit": [unanswered("UNAVAILABLE")]},
    "commit applied, reply UNAVAILABLE, re-sent and UNAVAILABLE": {
        "Commit": [unanswered("UNAVAILABLE"), refused("UNAVAILABLE")]
    },
    "commit applied, reply DEADLINE_EXCEEDED": {"Commit": [unanswered("DEADLINE_EXCEEDED")]},
    "commit applied, reply INTERNAL": {"Commit": [unanswered("INTERNAL")]},
    "commit applied, reply CANCELLED": {"Commit": [unanswered("CANCELLED")]},
    "commit applied, reply UNKNOWN": {"Commit": [unanswered("UNKNOWN")]},
    "commit applied, reply ABORTED": {"Commit": [unanswered("ABORTED")]},
    "commit not applied, DEADLINE_EXCEEDED": {"Commit": [refused("DEADLINE_EXCEEDED")]},
    "commit not applied, UNAVAILABLE": {"Commit": [refused("UNAVAILABLE")]},
    "commit not applied, INTERNAL": {"Commit": [refused("INTERNAL")]},
    "commit not applied, RESOURCE_EXHAUSTED": {"Commit": [refused("RESOURCE_EXHAUSTED")] * 2},
    "ABORTED on commit, and the rollback fails": {
        "Commit": [refused("ABORTED")],
        "Rollback": [refused("UNAVAILABLE"), refused("INVALID_ARGUMENT")],
    },
    "ABORTED on a read, and the rollback fails": {
        "BatchGetDocuments": [refused("ABORTED")],
        "Rollback": [refused("PERMISSION_DENIED")],
    },
    "commit applied, INTERNAL, and the rollback fails": {
        "Commit": [unanswered("INTERNAL")],
        "Rollback": [refused("INVALID_ARGUMENT")],
    },
    "commit applied, and the first reading back fails": {
        "Commit": [unanswered("INTERNAL")],
        "BatchGetDocuments": [passed, passed, refused("PERMISSION_DENIED")],
    },
}


@pytest.mark.parametrize("faults", APPLIED_OR_RETRIED.values(), ids=APPLIED_OR_RETRIED)
def test_the_change_is_made_once_and_known_to_be_made(claimed: Store, faults: dict[str, list[Fault]]) -> None:
    if "Rollback" in faults:
        faults = faults | {"Rollback": faults["Rollback"][:1]}
    for name, given in faults.items():
        claimed.script.on(name, *given)
    outcome = claim(claimed)
    if "Rollback" in faults:
        claimed.script.faults.pop("Rollback")
    assert_applied_once(claimed, outcome)


def test_the_stock_client_alone_reports_a_commit_that_was_applied_as_refused(claimed: Store) -> None:
    """Why the wrapper exists: its retry of the same commit is refused as a closed transaction."""
    claimed.script.on("Commit", unanswered("UNAVAILABLE"))
    batch = claimed.client.batch()
    batch.create(claimed.client.document("x/y"), {"a": 1})
    with pytest.raises(Exception, match="exists"):
        batch.commit()
    assert claimed.raw("x/y") == {"a": 1}


@pytest.mark.parametrize("code", ["ABORTED", "RESOURCE_EXHAUSTED"])
def test_contention_that_does_not_end_is_a_failure_with_nothing_written(claimed: Store, code: str) -> None:
    claimed.script.on("BatchGetDocuments", *[refused("ABORTED")] * 10)
    with pytest.raises(StateStoreError) as caught:
        claim(claimed)
    assert caught.value.code == "contention"
    assert not isinstance(caught.value, UnknownOutcome)
    assert_not_applied(claimed)


def test_a_contended_commit_waits_longer_and_longer_before_it_gives_up(claimed: Store) -> None:
    claimed.script.on("Commit", *[refused("ABORTED")] * 10)
    with pytest.raises(StateStoreError, match="too much contention"):
        claim(claimed)
    assert 5 < claimed.runtime.monotonic() < 15
    assert_not_applied(claimed)


def test_a_commit_whose_fate_nobody_can_tell_is_an_unknown_outcome_not_a_failure(claimed: Store) -> None:
    """It may land yet: the caller must not record a failure of the work."""
    claimed.script.on("Commit", *[refused("DEADLINE_EXCEEDED")] * 10)
    with pytest.raises(UnknownOutcome):
        claim(claimed)


def test_an_applied_commit_that_can_never_be_read_back_is_an_unknown_outcome(claimed: Store) -> None:
    claimed.script.on("Commit", unanswered("INTERNAL"))
    claimed.script.on("BatchGetDocuments", passed, passed, *[refused("PERMISSION_DENIED")] * 30)
    with pytest.raises(UnknownOutcome):
        claim(claimed)


def test_a_refusal_of_a_commit_that_was_sent_twice_is_in_doubt_until_it_is_read_back(claimed: Store) -> None:
    """Applied, unanswered, sent again by the client, and then refused as a closed transaction."""
    claimed.script.on("Commit", unanswered("UNAVAILABLE"))
    claimed.script.on("BatchGetDocuments", passed, passed, *[refused("PERMISSION_DENIED")] * 30)
    with pytest.raises(UnknownOutcome):
        claim(claimed)


def test_a_refusal_after_an_unanswered_commit_does_not_turn_the_doubt_into_a_failure(claimed: Store) -> None:
    claimed.script.on("Commit", refused("DEADLINE_EXCEEDED"), *[refused("FAILED_PRECONDITION")] * 3)
    with pytest.raises(UnknownOutcome):
        claim(claimed)


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "FAILED_PRECONDITION", "ALREADY_EXISTS", "NOT_FOUND"])
def test_a_commit_that_is_refused_again_and_again_is_a_failure_with_nothing_written(claimed: Store, code: str) -> None:
    claimed.script.on("Commit", *[refused(code)] * 3)
    with pytest.raises(StateStoreError) as caught:
        claim(claimed)
    assert not isinstance(caught.value, UnknownOutcome)
    assert_not_applied(claimed)


def test_a_refusal_that_no_repetition_changes_is_not_repeated(claimed: Store) -> None:
    claimed.script.on("BatchGetDocuments", refused("PERMISSION_DENIED"))
    with pytest.raises(StateStoreError, match="the state store refused"):
        claim(claimed)
    assert claimed.script.calls.count("BatchGetDocuments") == 1
    assert_not_applied(claimed)


class Late:
    """A commit that times out, and is applied only when a later call of some name begins."""

    def __init__(self, script: Script, name: str, after: int) -> None:
        self.script, self.name, self.after = script, name, after
        self.outcome: str | None = None

    def __call__(self, do: Any) -> Any:
        self.script.on("Rollback", refused("PERMISSION_DENIED"))  # which would keep it from landing
        self.script.on(self.name, *[passed] * self.after, lambda other: self._land(do, other))
        raise refused("DEADLINE_EXCEEDED")(do)

    def _land(self, do: Any, other: Any) -> Any:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the engine may refuse what comes too late
            self.outcome = str(error)
        else:
            self.outcome = "applied"
        return other()


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_commit_that_lands_after_the_next_try_began_is_not_applied_twice(claimed: Store, after: int) -> None:
    """0: before it is looked for; 1: after that, before the next try reads; 2, 3: between that try's reads."""
    late = Late(claimed.script, "BatchGetDocuments", after)
    claimed.script.on("Commit", late)
    assert_applied_once(claimed, claim(claimed))
    assert late.outcome == "applied"


def test_a_commit_that_lands_just_before_the_next_trys_own_commit_is_not_applied_twice(claimed: Store) -> None:
    late = Late(claimed.script, "Commit", 0)
    claimed.script.on("Commit", late)
    assert_applied_once(claimed, claim(claimed))
    assert late.outcome == "applied"


def test_a_commit_that_lands_after_the_next_trys_own_commit_is_refused(claimed: Store) -> None:
    first: list[Any] = []

    def held(do: Any) -> Any:
        first.append(do)
        raise refused("DEADLINE_EXCEEDED")(do)

    claimed.script.on("Commit", held)
    outcome = claim(claimed)
    with pytest.raises(Exception, match=r"(?s)."):
        first[0]()
    assert_applied_once(claimed, outcome)


def test_somebody_elses_change_between_two_tries_is_respected(claimed: Store) -> None:
    def overtaken(do: Any) -> Any:
        claimed.other.document(f"tasks/{ID}").update({"status": "running", "executions": 5})
        return do()

    def aborted(do: Any) -> Any:
        claimed.script.on("BeginTransaction", overtaken)  # the next try's
        return refused("ABORTED")(do)

    claimed.script.on("Commit", aborted)
    outcome = claim(claimed)
    assert (outcome.value, outcome.changed) == ("somebody runs it", False)
    assert claimed.raw(f"tasks/{ID}")["executions"] == 5
    assert claimed.log() == []


@pytest.mark.parametrize("error", [PipelineStateError("no"), LawViolation("no"), KeyError("bug")])
def test_what_the_body_raises_is_not_hidden_by_a_rollback_that_fails(claimed: Store, error: Exception) -> None:
    def body(reader: Any) -> Any:
        reader.task(ID)
        raise error

    claimed.script.on("Rollback", refused("PERMISSION_DENIED"))
    with pytest.raises(type(error)) as caught:
        claimed.gateway.transact(body)
    assert caught.value is error
    assert claimed.script.calls.count("BatchGetDocuments") == 1


def test_a_transaction_that_writes_nothing_is_never_in_doubt(claimed: Store) -> None:
    claimed.script.on("Commit", unanswered("INTERNAL"), refused("DEADLINE_EXCEEDED"))
    outcome = claimed.gateway.transact(lambda reader: (None, reader.task(ID).status))
    assert (outcome.value, outcome.changed) == ("queued", False)
    assert_not_applied(claimed)


def test_the_value_belongs_to_the_try_that_was_applied(claimed: Store) -> None:
    """Its first try was applied and unanswered; a later one computed something else."""
    tries: list[int] = []

    def body(reader: Any) -> tuple[Commit, int]:
        tries.append(len(tries) + 1)
        before = reader.all(Task, [ID])[0]
        after = before.replace(status="running", lease=lease(ends=NOW), executions=before.executions + 1)
        return Commit(By.WORKER, "claim", "c", tasks=(TaskChange(before, after, "x"),)), tries[-1]

    claimed.script.on("Commit", refused("ABORTED"), unanswered("DEADLINE_EXCEEDED"))
    assert claimed.gateway.transact(body).value == 2
    assert claimed.log()[0]["try"] == 2
