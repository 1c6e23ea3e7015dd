"""Renewing the lease of a running task: one conditional write, no transaction and no read (§2.1 rule 4).

The base of the new end is the server's `update_time` of the previous write
plus the monotonic time since that answer, which can only be early: the host's
idea of the date never matters (law 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from google.api_core import exceptions as google
from google.cloud import firestore

from mos.domain.errors import LeaseLost, StateStoreError
from mos.domain.model import Task, TaskStatus
from mos.runtime import Runtime
from mos.store.documents import COLLECTION, UnreadableRecord, read

TRIES = 2
"""Writes per renewal: another writer of the task's other fields may come between, once."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """A server time, and the monotonic times between which it was taken."""

    server_time: datetime
    sent: float
    answered: float

    def earliest(self, monotonic: float) -> datetime:
        """The server's clock is at least here."""
        return self.server_time + timedelta(seconds=monotonic - self.answered)


@dataclass(frozen=True, kw_only=True)
class HeldLease:
    """A lease as its holder knows it."""

    task_id: str
    attempt: int
    token: str
    expires_at: datetime
    update_time: datetime
    """Of the task's last write: the precondition of the next one."""
    anchor: Anchor

    @property
    def deadline(self) -> float:
        """The monotonic time at which the holder stops on its own: never later than the lease ends in the store."""
        return self.anchor.sent + (self.expires_at - self.anchor.server_time).total_seconds()


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """What a renewal is to write. `progressed`: the handler reached a checkpoint since the last time."""

    length: timedelta
    grace: timedelta
    progressed: bool
    timeout: float
    """Seconds for each call."""


def renew(client: firestore.Client, held: HeldLease, renewal: Renewal, runtime: Runtime) -> HeldLease:
    """The lease, renewed for `renewal.length` from now; `checkAt` moves with it.

    Raises:
        LeaseLost: the task is no longer running under this token.
        StateStoreError: not known to be renewed; try again at the next beat, the old end stands.
    """
    reference = client.collection(COLLECTION[Task]).document(held.task_id)
    for _ in range(TRIES):
        sent = runtime.monotonic()
        wanted = _Write(held, renewal, now=held.anchor.earliest(sent), token=runtime.new_id(), sent=sent)
        try:
            option = client.write_option(last_update_time=held.update_time)
            result: Any = reference.update(wanted.fields(), option=option, retry=None, timeout=renewal.timeout)
        except (google.GoogleAPICallError, google.RetryError) as error:
            found = _look(reference, wanted, runtime, error)
        else:
            return wanted.done(
                result.update_time, Anchor(server_time=result.update_time, sent=sent, answered=runtime.monotonic())
            )
        if isinstance(found, _Renewed):
            return found.lease
        held = found
    raise StateStoreError(f"task {held.task_id} is being written by somebody else; its lease was not renewed")


@dataclass(frozen=True)
class _Renewed:
    lease: HeldLease


@dataclass(frozen=True)
class _Write:
    """One conditional write and what follows from it."""

    held: HeldLease
    renewal: Renewal
    now: datetime
    token: str
    sent: float

    @property
    def expires_at(self) -> datetime:
        return max(self.now + self.renewal.length, self.held.expires_at)

    def fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "lease.renewedAt": self.now,
            "lease.expiresAt": self.expires_at,
            "checkAt": self.expires_at + self.renewal.grace,
            "opToken": self.token,
        }
        return fields | ({"lastProgressAt": self.now} if self.renewal.progressed else {})

    def done(self, update_time: datetime, anchor: Anchor) -> HeldLease:
        return replace(self.held, expires_at=self.expires_at, update_time=update_time, anchor=anchor)


def _look(
    reference: firestore.DocumentReference, wanted: _Write, runtime: Runtime, error: Exception
) -> _Renewed | HeldLease:
    """After a refusal or no answer: whether our write is there, else the lease to try again from."""
    sent = runtime.monotonic()
    try:
        snapshot = reference.get(retry=None, timeout=wanted.renewal.timeout)
        task = read(Task, snapshot)
    except (google.GoogleAPICallError, google.RetryError, UnreadableRecord) as unread:
        raise StateStoreError(f"the lease of {wanted.held.task_id} was not renewed: {error}") from unread
    held = wanted.held
    if task is None or not _ours(task, held):
        raise LeaseLost(f"task {held.task_id} is no longer ours: stop, and commit nothing") from error
    anchor = Anchor(server_time=snapshot.read_time, sent=sent, answered=runtime.monotonic())
    if task.op_token == wanted.token:
        return _Renewed(wanted.done(snapshot.update_time, anchor))
    stands = task.lease.expires_at if task.lease else held.expires_at
    return replace(held, expires_at=stands, update_time=snapshot.update_time, anchor=anchor)


def _ours(task: Task, held: HeldLease) -> bool:
    return (
        task.status is TaskStatus.RUNNING
        and task.attempt == held.attempt
        and task.lease is not None
        and task.lease.token == held.token
    )
