"""Transactions are serialisable for documents and queries, in both concurrency modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore import Client
from google.cloud.firestore_v1.base_query import FieldFilter

from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.testing import ManualClock

Step = Callable[[firestore.Transaction], Any]


@pytest.fixture
def engine(clock: ManualClock, locking: str) -> Engine:
    return Engine(clock=clock, locking=locking, lock_timeout=0)


@pytest.fixture
def begin(db: Client) -> Callable[[], firestore.Transaction]:
    def started() -> firestore.Transaction:
        transaction = db.transaction()
        transaction._begin()
        return transaction

    return started


def value(db: Client, path: str, transaction: firestore.Transaction | None = None) -> int:
    return int(db.document(path).get(transaction=transaction).get("n"))


def commits(*transactions: firestore.Transaction) -> list[bool]:
    """Which of the transactions could be committed, in this order."""
    outcomes = []
    for transaction in transactions:
        try:
            transaction._commit()
        except exceptions.Aborted:
            outcomes.append(False)
        else:
            outcomes.append(True)
    return outcomes


def test_of_two_increments_only_one_is_committed(db: Client, begin: Any) -> None:
    db.document("c/x").set({"n": 0})
    one, two = begin(), begin()
    for transaction in (one, two):
        transaction.update(db.document("c/x"), {"n": value(db, "c/x", transaction) + 1})
    assert commits(one, two) == [True, False]
    assert value(db, "c/x") == 1


def test_the_client_retries_a_lost_race_until_it_wins(db: Client, begin: Any) -> None:
    db.document("c/x").set({"n": 0})
    rival = begin()
    value(db, "c/x", rival)
    rival.update(db.document("c/x"), {"n": 10})
    seen = []

    @firestore.transactional
    def bump(transaction: firestore.Transaction) -> None:
        seen.append(value(db, "c/x", transaction))
        if len(seen) == 1:
            rival._commit()
        transaction.update(db.document("c/x"), {"n": seen[-1] + 1})

    bump(db.transaction())
    assert seen == [0, 10]
    assert value(db, "c/x") == 11


def test_a_lease_on_a_missing_document_has_one_winner(db: Client, begin: Any) -> None:
    rivals = [begin() for _ in range(4)]
    for number, transaction in enumerate(rivals):
        assert not db.document("leases/a").get(transaction=transaction).exists
        transaction.set(db.document("leases/a"), {"owner": number})
    assert commits(*rivals).count(True) == 1


def test_write_skew_is_prevented(db: Client, begin: Any) -> None:
    """Both read both, each writes the other one: never both."""
    for path in ("d/a", "d/b"):
        db.document(path).set({"n": 1})
    one, two = begin(), begin()
    for transaction, path in ((one, "d/a"), (two, "d/b")):
        total = value(db, "d/a", transaction) + value(db, "d/b", transaction)
        assert total == 2
        transaction.update(db.document(path), {"n": 0})
    assert commits(one, two) == [True, False]


def test_a_phantom_is_prevented(db: Client, begin: Any) -> None:
    """Both count the running tasks and start one more if there is room."""
    query = db.collection("tasks").where(filter=FieldFilter("status", "==", "running"))
    one, two = begin(), begin()
    for number, transaction in enumerate((one, two)):
        assert not list(query.stream(transaction=transaction))
        transaction.create(db.document(f"tasks/{number}"), {"status": "running"})
    assert commits(one, two) == [True, False]


def test_a_phantom_behind_a_count_is_prevented(db: Client, begin: Any) -> None:
    count = db.collection("tasks").where(filter=FieldFilter("status", "==", "running")).count()
    one, two = begin(), begin()
    for number, transaction in enumerate((one, two)):
        assert count.get(transaction=transaction)[0][0].value == 0
        transaction.create(db.document(f"tasks/{number}"), {"status": "running"})
    assert commits(one, two) == [True, False]


def test_a_change_outside_a_querys_answer_does_not_disturb(db: Client, begin: Any) -> None:
    query = db.collection("tasks").where(filter=FieldFilter("status", "==", "running"))
    one, two = begin(), begin()
    list(query.stream(transaction=one))
    one.set(db.document("d/one"), {})
    two.set(db.document("tasks/2"), {"status": "queued"})
    assert commits(two, one) == [True, True]


def test_transactions_on_different_documents_both_commit(db: Client, begin: Any) -> None:
    for path in ("d/a", "d/b"):
        db.document(path).set({"n": 0})
    one, two = begin(), begin()
    for transaction, path in ((one, "d/a"), (two, "d/b")):
        transaction.update(db.document(path), {"n": value(db, path, transaction) + 1})
    assert commits(one, two) == [True, True]


def test_reads_of_one_transaction_are_one_snapshot(db: Client, begin: Any, locking: str) -> None:
    for path in ("d/a", "d/b"):
        db.document(path).set({"n": 1})
    transaction = begin()
    first = value(db, "d/a", transaction)
    outside = db.batch()
    for path in ("d/a", "d/b"):
        outside.update(db.document(path), {"n": 2})
    if locking == "pessimistic":
        with pytest.raises(exceptions.Aborted, match="contention"):
            outside.commit()
    else:
        outside.commit()
    assert value(db, "d/b", transaction) == first
    assert [s.get("n") for s in db.collection("d").stream(transaction=transaction)] == [first, first]


def test_a_second_commit_of_one_transaction_is_refused(db: Client, begin: Any) -> None:
    transaction = begin()
    transaction.set(db.document("d/x"), {"n": 1})
    used = transaction._id
    transaction._commit()
    transaction._id = used
    with pytest.raises(exceptions.InvalidArgument, match="invalid or closed"):
        transaction._commit()


def test_an_unknown_transaction_is_refused(db: Client, begin: Any) -> None:
    transaction = begin()
    transaction._id = b"never given out"
    with pytest.raises(exceptions.InvalidArgument):
        value(db, "d/x", transaction)
    with pytest.raises(exceptions.InvalidArgument):
        transaction._commit()


def test_a_rolled_back_transaction_leaves_nothing(db: Client, begin: Any, engine: Engine) -> None:
    db.document("d/x").set({"n": 1})
    transaction = begin()
    value(db, "d/x", transaction)
    transaction._rollback()
    assert len(engine.transactions) == 0
    db.document("d/x").set({"n": 2})


def test_an_exception_in_the_function_rolls_back(db: Client, engine: Engine) -> None:
    @firestore.transactional
    def fails(transaction: firestore.Transaction) -> None:
        transaction.set(db.document("d/x"), {"n": 1})
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        fails(db.transaction())
    assert not db.document("d/x").get().exists
    assert len(engine.transactions) == 0


def test_a_failed_precondition_in_a_transaction_writes_nothing(db: Client, engine: Engine) -> None:
    db.document("d/taken").set({})

    @firestore.transactional
    def create_both(transaction: firestore.Transaction) -> None:
        transaction.create(db.document("d/free"), {})
        transaction.create(db.document("d/taken"), {})

    with pytest.raises(exceptions.AlreadyExists):
        create_both(db.transaction())
    assert not db.document("d/free").get().exists
    assert len(engine.transactions) == 0


@pytest.mark.parametrize(("idle", "steps"), [(61, 1), (50, 6)], ids=["60 s idle", "270 s in all"])
def test_a_transaction_expires(db: Client, begin: Any, clock: ManualClock, idle: int, steps: int) -> None:
    db.document("d/x").set({"n": 1})
    transaction = begin()
    for _ in range(steps - 1):
        clock.advance(idle)
        value(db, "d/x", transaction)
    clock.advance(idle)
    transaction.set(db.document("d/x"), {"n": 2})
    with pytest.raises(exceptions.InvalidArgument, match="expired"):
        transaction._commit()
    db.document("d/x").set({"n": 3})
    assert value(db, "d/x") == 3


def test_a_read_only_transaction_sees_its_snapshot(db: Client) -> None:
    db.document("d/x").set({"n": 1})
    transaction = db.transaction(read_only=True)
    transaction._begin()
    db.document("d/x").set({"n": 2})
    assert value(db, "d/x", transaction) == 1
    transaction._commit()


def test_five_aborted_commits_end_in_a_value_error(db: Client, engine: Engine) -> None:
    def refuse(name: str, request: Any, do: Callable[[], Any], timeout: float | None) -> Any:
        from mos.local.firestore.inprocess import grpc_error

        if name == "Commit":
            raise grpc_error("ABORTED")
        return do()

    hindered = connect(engine, "demo", refuse)

    @firestore.transactional
    def write(transaction: firestore.Transaction) -> None:
        transaction.set(hindered.document("d/x"), {})

    with pytest.raises(ValueError, match="5 attempts"):
        write(hindered.transaction())


# The pessimistic mode


class Rivals:
    """Transactions on a pessimistic engine, whose waits pass virtual time and let others act."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.engine = Engine(clock=clock, locking="pessimistic", lock_timeout=2.0)
        self.meanwhile: list[Callable[[], None]] = []
        self.waited = 0.0
        self.db = connect(self.engine, "demo", pause=self._pause)

    def _pause(self, seconds: float) -> None:
        self.waited += seconds
        self.clock.advance(seconds)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def begin(self, path: str = "c/x", **options: Any) -> firestore.Transaction:
        transaction = self.db.transaction(**options)
        transaction._begin()
        self.db.document(path).get(transaction=transaction)
        transaction.set(self.db.document(path), {"by": transaction.id.decode()})
        return transaction


@pytest.fixture
def rivals(clock: ManualClock) -> Rivals:
    made = Rivals(clock)
    made.db.document("c/x").set({})
    return made


def test_a_younger_writer_waits_until_the_older_reader_has_finished(rivals: Rivals) -> None:
    older, younger = rivals.begin(), rivals.begin("c/other")
    younger.set(rivals.db.document("c/x"), {"by": "younger"})
    rivals.meanwhile = [lambda: None, lambda: older._commit() and None]
    younger._commit()
    assert rivals.db.document("c/x").get().to_dict() == {"by": "younger"}
    assert 0 < rivals.waited < 0.1


def test_a_plain_write_waits_and_gives_up_with_contention(rivals: Rivals) -> None:
    reader = rivals.begin()
    with pytest.raises(exceptions.Aborted, match="Too much contention"):
        rivals.db.document("c/x").set({"by": "plain"})
    assert rivals.waited == pytest.approx(2.0, abs=0.05)
    reader._commit()
    rivals.db.document("c/x").set({"by": "plain"})


def test_an_older_writer_aborts_the_younger_reader(rivals: Rivals) -> None:
    older, younger = rivals.begin(), rivals.begin()
    older._commit()
    assert rivals.waited == 0
    with pytest.raises(exceptions.Aborted, match="cross-transaction contention"):
        younger._commit()


def test_a_lock_timeout_ends_in_aborted(rivals: Rivals) -> None:
    rivals.begin()
    younger = rivals.begin()
    with pytest.raises(exceptions.Aborted, match="lock timeout"):
        younger._commit()


def test_a_query_is_locked_against_phantoms_only(rivals: Rivals) -> None:
    reader = rivals.db.transaction()
    reader._begin()
    query = rivals.db.collection("tasks").where(filter=FieldFilter("status", "==", "running"))
    list(query.stream(transaction=reader))
    rivals.db.document("tasks/1").set({"status": "queued"})
    with pytest.raises(exceptions.Aborted):
        rivals.db.document("tasks/1").set({"status": "running"})


def test_a_retry_keeps_its_place_in_line(rivals: Rivals) -> None:
    """The retry of an aborted transaction is older than whatever began after its first attempt."""
    first, loser = rivals.begin(), rivals.begin()
    first._commit()
    newcomer = rivals.begin()
    again = rivals.db.transaction()
    again._begin(retry_id=loser.id)
    rivals.db.document("c/x").get(transaction=again)
    again.set(rivals.db.document("c/x"), {"by": "again"})
    again._commit()
    assert commits(newcomer) == [False]


def test_a_lock_of_a_dead_client_ends_when_it_has_been_idle(rivals: Rivals) -> None:
    rivals.begin()
    rivals.clock.advance(61)
    rivals.db.document("c/x").set({"by": "next"})
    assert rivals.waited == 0


def test_a_read_only_transaction_locks_nothing(rivals: Rivals) -> None:
    reader = rivals.db.transaction(read_only=True)
    reader._begin()
    rivals.db.document("c/x").get(transaction=reader)
    rivals.db.document("c/x").set({"by": "writer"})
    assert rivals.waited == 0


def test_an_unknown_retry_id_is_refused(db: Client) -> None:
    with pytest.raises(exceptions.InvalidArgument):
        db.transaction()._begin(retry_id=b"nonsense")


def test_a_batch_write_that_waits_applies_nothing_twice(rivals: Rivals) -> None:
    reader = rivals.begin()
    rivals.meanwhile = [reader._rollback]
    increment = {"field_path": "n", "increment": {"integer_value": 1}}
    writes = [
        {"transform": {"document": rivals.db.document(path)._document_path, "field_transforms": [increment]}}
        for path in ("c/first", "c/x")
    ]
    rivals.db._firestore_api.batch_write(request={"database": rivals.db._database_string, "writes": writes})
    assert [rivals.db.document(path).get().get("n") for path in ("c/first", "c/x")] == [1, 1]
    assert rivals.waited > 0


def test_aborted_attempts_do_not_pile_up(db: Client, engine: Engine) -> None:
    """Each retry takes the place of the attempt before it."""
    transaction = db.transaction()
    transaction._begin()
    for _ in range(50):
        earlier = transaction._id
        transaction._clean_up()
        transaction._begin(retry_id=earlier)
    assert len(engine.transactions._live) == 1
