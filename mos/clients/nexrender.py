"""nexrender's REST interface: thin, typed, with three answers where others have two.

`GET /jobs/pickup` changes state and is never called. Each call has its own
deadline. Nothing here raises for what the farm answers: the caller gets a
value and decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from mos.domain.errors import NexrenderError, SettingsError, ValidationError
from mos.domain.rendering.answers import (
    TERMINAL,
    Answer,
    Census,
    Known,
    Missing,
    UnknownAnswer,
    read_answer,
    read_census,
)
from mos.domain.text import clean
from mos.runtime import Runtime

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0
CENSUS_SECONDS = 30.0
"""A list of a thousand jobs has 17 MB and takes the server seconds."""
CENSUS_PAUSE_SECONDS = 60.0
"""After a list that timed out: the server may still be working on it, and repeated lists lock it up."""
IDLE_SECONDS = 3.0
"""Shorter than the server keeps an idle connection (5 s), so that a POST never meets one that is being closed."""
_UID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PATHS = frozenset({"pickup", "status"})
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_MAYBE_TAKEN = frozenset({408, 499})
"""4xx by which an intermediary gives up on a request that the server may have taken."""
_TRY_AGAIN = frozenset({401, 403, 404, 429})
"""Refused for what the job has nothing to do with: a wrong secret, a wrong address, too many requests."""


@dataclass(frozen=True)
class Accepted:
    """The farm has the job."""

    answer: Known


@dataclass(frozen=True)
class Ambiguous:
    """The POST may have been taken. Never repeat it: ask for that uid, and again later. `answer` is the first such."""

    reason: str
    answer: Answer


@dataclass(frozen=True)
class Refused:
    """The farm does not have the job. `retryable`: the same uid may be submitted once the cause has gone."""

    reason: str
    retryable: bool
    status: int | None = None


Submission = Accepted | Ambiguous | Refused


@dataclass(frozen=True)
class Removed:
    """The record is gone. The render itself may still be alive: DELETE cancels nothing."""


@dataclass(frozen=True)
class Kept:
    """The record was left alone, or is still there."""

    reason: str


Removal = Removed | Kept | Missing | UnknownAnswer


@dataclass(frozen=True)
class Health:
    """Whether the server answers its health check, and what it said otherwise."""

    ok: bool
    reason: str = ""


def as_error(outcome: Ambiguous | Refused | UnknownAnswer) -> NexrenderError:
    """What the farm did not do, as an error of the hierarchy (§1.6)."""
    match outcome:
        case Refused(reason, retryable, status):
            return NexrenderError(
                f"nexrender refused the job: {reason}", code="refused", status=status, retryable=retryable
            )
        case Ambiguous(reason):
            return NexrenderError(f"nexrender may have taken the job: {reason}", code="ambiguous", retryable=False)
        case UnknownAnswer(reason):
            return NexrenderError(f"nexrender gave no usable answer: {reason}", code="unknown_answer")


class Nexrender:
    """One farm. Safe to share between threads."""

    def __init__(self, url: str, secret: str, *, runtime: Runtime) -> None:
        """Nothing connects here.

        Raises:
            SettingsError: the address is no http or https URL, or the secret cannot stand in a header.
        """
        if not secret.isascii() or not secret.isprintable():
            raise SettingsError("NEXRENDER_SECRET: plain ASCII characters only", details={"field": "NEXRENDER_SECRET"})
        try:
            base = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise SettingsError(f"NEXRENDER_URL: {error}", details={"field": "NEXRENDER_URL"}) from error
        if base.scheme not in {"http", "https"} or not base.host:
            raise SettingsError(f"NEXRENDER_URL: {url!r} is no http address", details={"field": "NEXRENDER_URL"})
        self._http = httpx.Client(
            base_url=base,
            headers={"nexrender-secret": secret},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=16, keepalive_expiry=IDLE_SECONDS),
            trust_env=False,
        )
        self._runtime = runtime
        self._gate = runtime.lock()
        self._counting = False
        self._no_census_before = runtime.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, uid: str) -> Answer:
        """What the farm says about one job.

        Raises:
            ValidationError: no uid that could be part of a path.
        """
        try:
            answer = self._http.get(f"/api/v1/jobs/{_checked(uid)}")
        except httpx.HTTPError as error:
            return UnknownAnswer(_text(error))
        return read_answer(answer.status_code, answer.content, uid)

    def submit(self, job: Mapping[str, Any]) -> Submission:
        """POST the job once. After an outcome that nobody can tell, one GET of its uid decides or leaves it open.

        The uid must be stored before (§2.4): a second POST of it would make a
        second record that renders for ever.

        Raises:
            ValidationError: the job has no uid that could be part of a path.
        """
        uid = _checked(job.get("uid"))
        body = json.dumps(dict(job), allow_nan=False).encode()
        try:
            answer = self._http.post("/api/v1/jobs", content=body, headers={"content-type": "application/json"})
        except _NOT_SENT as error:
            return Refused(_text(error), retryable=True)
        except httpx.HTTPError as error:
            return self._look(uid, _text(error))
        status = answer.status_code
        if 400 <= status < 500 and status not in _MAYBE_TAKEN:  # noqa: PLR2004 - the range of client errors
            return Refused(f"status {status}: {clean(answer.text, 300)}", status in _TRY_AGAIN, status)
        said = read_answer(status, answer.content, uid)
        if isinstance(said, Known):
            return Accepted(said)
        return self._look(uid, said.reason if isinstance(said, UnknownAnswer) else "an empty answer")

    def census(self) -> Census | UnknownAnswer:
        """Every job, from the light list or, on the stores where that fails, from the heavy one.

        One at a time, and none for a while after one that timed out.
        """
        with self._gate:
            now = self._runtime.monotonic()
            if self._counting or now < self._no_census_before:
                return UnknownAnswer("another list is under way, or the last one timed out just now")
            self._counting = True
        seen: Census | UnknownAnswer = UnknownAnswer("interrupted")
        pause = CENSUS_PAUSE_SECONDS
        try:
            seen, timed_out = self._census()
            pause = CENSUS_PAUSE_SECONDS if timed_out else 0.0
        finally:
            with self._gate:
                self._counting = False
                self._no_census_before = self._runtime.monotonic() + pause
        return seen

    def remove(self, uid: str, *, only_in: frozenset[str] = TERMINAL) -> Removal:
        """Delete a record that is in one of these states: re-read just before, looked for just after.

        Raises:
            ValidationError: no uid that could be part of a path.
        """
        before = self.get(uid)
        if not isinstance(before, Known):
            return before
        if before.record.state not in only_in:
            return Kept(f"it is {before.record.state}")
        try:
            self._http.delete(f"/api/v1/jobs/{uid}")
        except httpx.HTTPError as error:
            return UnknownAnswer(_text(error))
        match self.get(uid):
            case Missing():
                return Removed()
            case Known():
                return Kept("it is still there: the farm has a second record of this uid, or refused")
            case UnknownAnswer() as unknown:
                return unknown

    def health(self) -> Health:
        """Whether the server answers at all; needs no secret."""
        try:
            answer = self._http.get("/api/v1/health")
        except httpx.HTTPError as error:
            return Health(ok=False, reason=_text(error))
        healthy = answer.status_code == httpx.codes.OK and answer.text.strip() == "ok"
        return Health(ok=healthy, reason="" if healthy else f"status {answer.status_code}: {clean(answer.text, 200)}")

    def _census(self) -> tuple[Census | UnknownAnswer, bool]:
        """The list, and whether it timed out."""
        seen: Census | UnknownAnswer = UnknownAnswer("never asked")
        for path in ("/api/v1/jobs/status", "/api/v1/jobs"):
            try:
                answer = self._http.get(path, timeout=httpx.Timeout(CENSUS_SECONDS, connect=CONNECT_SECONDS))
            except httpx.HTTPError as error:
                return UnknownAnswer(_text(error)), isinstance(error, httpx.ReadTimeout)
            seen = read_census(answer.status_code, answer.content)
            if answer.status_code != httpx.codes.INTERNAL_SERVER_ERROR:
                break
        return seen, False

    def _look(self, uid: str, reason: str) -> Submission:
        answer = self.get(uid)
        return Accepted(answer) if isinstance(answer, Known) else Ambiguous(reason, answer)


def _checked(uid: object) -> str:
    """The uid, if it names a job and nothing else: `pickup` would take a job out of the queue."""
    if not isinstance(uid, str) or not _UID.fullmatch(uid) or uid in _PATHS:
        raise ValidationError.of_field("uid", f"{clean(str(uid), 80)!r} is no uid: letters, digits, _ and - only")
    return uid


def _text(error: httpx.HTTPError) -> str:
    return clean(f"{type(error).__name__}: {error}", 200)
