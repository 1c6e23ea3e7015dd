"""Faults on purpose, in process and on a server, and what the stock client makes of them (the facts it is built on)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.api_core.retry import Retry, if_exception_type
from google.cloud import firestore
from google.cloud.firestore import Client

from mos.local.firestore.admin import Admin, AdminError, admin
from mos.local.firestore.faults import FaultScript, rule
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ServerProcess, client, server
from mos.local.firestore.virtual import virtual_time


class Patience:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.slept = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def monotonic(self) -> float:
        return self.slept


@pytest.fixture
def patience() -> Iterator[Patience]:
    time = Patience()
    with virtual_time(time.sleep, time.monotonic, seed=1):
        yield time


Faulty = Callable[..., Client]


@pytest.fixture
def faulty(engine: Engine, patience: Patience) -> Faulty:
    """A client that meets the given faults; its own retries pass virtual time only."""

    def made(*rules: dict[str, Any]) -> Client:
        return connect(engine, "demo", FaultScript(rules).hook(patience.sleep))

    return made


def bump(db: Client, path: str = "c/x") -> None:
    @firestore.transactional
    def work(transaction: firestore.Transaction) -> None:
        snapshot = db.document(path).get(transaction=transaction)
        transaction.set(db.document(path), {"n": (snapshot.get("n") if snapshot.exists else 0) + 1})

    work(db.transaction())


def stored(db: Client) -> Any:
    return db.document("c/x").get().to_dict()


def test_aborted_on_a_read_reaches_the_caller(faulty: Faulty) -> None:
    db = faulty({"fault": "error", "method": "BatchGetDocuments", "code": "ABORTED"})
    with pytest.raises(exceptions.Aborted):
        bump(db)


def test_aborted_twice_on_commit_is_retried_at_once(faulty: Faulty, db: Client, patience: Patience) -> None:
    bump(faulty({"fault": "error", "method": "Commit", "code": "ABORTED", "times": 2}))
    assert (stored(db), patience.slept) == ({"n": 1}, 0)


def test_a_refused_begin_is_masked_by_a_value_error(faulty: Faulty) -> None:
    db = faulty({"fault": "error", "method": "BeginTransaction", "code": "PERMISSION_DENIED"})
    with pytest.raises(ValueError, match="cannot be rolled back") as caught:
        bump(db)
    assert isinstance(caught.value.__context__, exceptions.PermissionDenied)


def test_a_transaction_applied_but_unanswered_looks_invalid(faulty: Faulty, db: Client) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        bump(faulty({"fault": "unanswered", "method": "Commit"}))
    assert stored(db) == {"n": 1}


def test_a_create_applied_but_unanswered_meets_itself(faulty: Faulty, db: Client) -> None:
    with pytest.raises(exceptions.AlreadyExists):
        faulty({"fault": "unanswered", "method": "Commit"}).document("c/x").create({"n": 1})
    assert stored(db) == {"n": 1}


def test_a_conditional_update_applied_but_unanswered_looks_lost(faulty: Faulty, db: Client) -> None:
    seen = db.document("c/x").set({"n": 1}).update_time
    with pytest.raises(exceptions.FailedPrecondition):
        faulty({"fault": "unanswered", "method": "Commit"}).document("c/x").update(
            {"n": 2}, option=db.write_option(last_update_time=seen)
        )
    assert stored(db) == {"n": 2}


def test_an_increment_applied_but_unanswered_is_applied_twice(faulty: Faulty, db: Client) -> None:
    db.document("c/x").set({"n": 0})
    faulty({"fault": "unanswered", "method": "Commit"}).document("c/x").update({"n": firestore.Increment(1)})
    assert stored(db) == {"n": 2}


def test_a_create_past_its_deadline_is_raised_and_exists(faulty: Faulty, db: Client) -> None:
    with pytest.raises(exceptions.DeadlineExceeded):
        faulty({"fault": "unanswered", "method": "Commit", "code": "DEADLINE_EXCEEDED"}).document("c/x").create({})
    assert stored(db) == {}


@pytest.mark.parametrize("code", ["INTERNAL", "ABORTED"])
def test_other_errors_on_a_plain_write_are_raised(faulty: Faulty, db: Client, code: str) -> None:
    with pytest.raises(exceptions.GoogleAPICallError):
        faulty({"fault": "error", "method": "Commit", "code": code}).document("c/x").set({})
    assert stored(db) is None


def test_unavailable_is_retried_with_back_off(faulty: Faulty, db: Client, patience: Patience) -> None:
    faulty({"fault": "error", "method": "Commit", "times": 3}).document("c/x").set({"n": 1})
    assert stored(db) == {"n": 1}
    assert patience.slept > 0


def test_a_broken_query_stream_is_resumed_where_the_caller_gives_a_retry(faulty: Faulty, db: Client) -> None:
    for n in range(5):
        db.document(f"c/{n}").set({"n": n})
    hindered = faulty({"fault": "break", "method": "RunQuery", "after": 2})
    unavailable = Retry(predicate=if_exception_type(exceptions.ServiceUnavailable))
    stream = hindered.collection("c").order_by("n").stream(retry=unavailable)
    assert [snapshot.id for snapshot in stream] == ["0", "1", "2", "3", "4"]


def test_a_broken_query_stream_is_an_attribute_error_by_default(faulty: Faulty, db: Client) -> None:
    """A defect of the stock client, on every channel: it looks for the default retry where there is none."""
    for n in range(3):
        db.document(f"c/{n}").set({"n": n})
    hindered = faulty({"fault": "break", "method": "RunQuery", "after": 2})
    with pytest.raises(AttributeError, match="_retry"):
        list(hindered.collection("c").stream())


def test_rules_choose_their_calls(engine: Engine, patience: Patience) -> None:
    script = FaultScript(
        [
            {"fault": "error", "method": "Commit", "containing": "c/b", "skip": 1, "code": "INTERNAL"},
            {"fault": "latency", "seconds": 2.0, "times": 0},
        ]
    )
    db = connect(engine, "demo", script.hook(patience.sleep))
    db.document("c/a").set({})
    db.document("c/b").set({"n": 1})
    with pytest.raises(exceptions.InternalServerError):
        db.document("c/b").set({"n": 2})
    db.document("c/b").set({"n": 3})
    assert patience.slept == 8.0
    assert script.struck == {"latency": 4, "error": 1}
    assert [left["fault"] for left in script.as_data()] == ["latency"]


def test_a_seed_decides_what_probability_leaves_open() -> None:
    def struck(seed: int) -> list[bool]:
        script = FaultScript([{"fault": "error", "probability": 0.5, "times": 0}], seed=seed)
        return [script.decide("Commit", b"", "x").before is not None for _ in range(50)]

    assert struck(1) == struck(1) != struck(2)
    assert 10 < sum(struck(1)) < 40


@pytest.mark.parametrize("entry", [{"fault": "nonsense"}, {"fault": "error", "code": "NO"}, {"fault": "error", "x": 1}])
def test_a_rule_that_makes_no_sense_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - three texts, one type
        rule(entry)


# On a server


@pytest.fixture
def remote_admin(firestore_server: ServerProcess) -> Iterator[Admin]:
    with admin(firestore_server.address) as service:
        yield service
        service.set_faults([])


def test_faults_of_a_server_are_set_from_outside(remote: Client, remote_admin: Admin) -> None:
    remote_admin.set_faults([{"fault": "unanswered", "method": "Commit", "code": "DEADLINE_EXCEEDED"}])
    with pytest.raises(exceptions.DeadlineExceeded):
        remote.document("c/x").create({"n": 1})
    assert stored(remote) == {"n": 1}
    assert remote_admin.faults() == []
    remote.document("c/y").create({"n": 1})


def test_a_servers_streams_break(remote: Client, remote_admin: Admin) -> None:
    for n in range(3):
        remote.document(f"c/{n}").set({"n": n})
    remote_admin.set_faults([{"fault": "break", "method": "RunQuery", "after": 1, "code": "INTERNAL"}])
    stream = remote.collection("c").stream()
    assert next(stream).id == "0"
    with pytest.raises(AttributeError, match="_retry") as caught:
        next(stream)
    assert isinstance(caught.value.__context__, exceptions.InternalServerError)


def test_faults_of_one_caller_do_not_touch_another(firestore_server: ServerProcess, remote_admin: Admin) -> None:
    remote_admin.set_faults(
        [{"fault": "error", "method": "Commit", "code": "ABORTED", "caller": "unlucky", "times": 0}]
    )
    with client(firestore_server.address, "other", caller="lucky") as lucky:
        lucky.document("c/x").set({})
    with client(firestore_server.address, "other", caller="unlucky") as unlucky, pytest.raises(exceptions.Aborted):
        unlucky.document("c/x").set({})


def test_faults_can_be_there_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('[{"fault": "error", "method": "Commit", "code": "ABORTED"}]')
    with server("--faults", str(path)) as running, client(running.address) as db:
        with pytest.raises(exceptions.Aborted):
            db.document("c/x").set({})
        db.document("c/x").set({})


def test_rules_that_make_no_sense_are_refused_by_the_server(remote_admin: Admin) -> None:
    with pytest.raises(AdminError, match="NO is not the name"):
        remote_admin.set_faults([{"fault": "error", "code": "NO"}])
