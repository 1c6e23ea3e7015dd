"""What an answer of the farm adds to what is stored of a submission. The poll and the mission both write it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from mos.domain.model import Render
from mos.domain.rendering.answers import Answer, FarmRecord, Known, Missing, UnknownAnswer

SEEN = "seen"
"""`render.seen`: the fingerprint of the last record, by which a change is noticed whatever the farm's clock says."""


def observe(render: Render, answer: Answer, *, now: datetime) -> Render:
    """The render after an answer at `now`. Stamps when it answered, changed, and since when it is missing or silent."""
    match answer:
        case Known(record):
            return _known(render, record, now)
        case Missing():
            return _with(
                render, last_answer_at=now, missing_since=_since(render.missing_since, now), unanswered_since=None
            )
        case UnknownAnswer():
            return _with(render, unanswered_since=_since(render.unanswered_since, now))


def _known(render: Render, record: FarmRecord, now: datetime) -> Render:
    changed = seen(render) != record.fingerprint
    news: dict[str, Any] = {SEEN: record.fingerprint, "last_change_at": now} if changed else {}
    return _with(
        render,
        executor=record.executor or render.executor,
        last_answer_at=now,
        missing_since=None,
        unanswered_since=None,
        **news,
    )


def seen(render: Render) -> str | None:
    """The fingerprint of the last record, if there was one."""
    value = (render.model_extra or {}).get(SEEN)
    return value if isinstance(value, str) else None


def quiet_since(render: Render, record: FarmRecord, *, now: datetime, skew: timedelta) -> datetime:
    """Since when the record has not changed: the later of the farm's word and our own observation.

    A time of the farm that lies further ahead than a clock may be off is no evidence.
    """
    word = record.updated_at
    times = [_observed(render, record, now)]
    if word is not None and word <= now + skew:
        times.append(min(word, now))
    return max(times)


def unmoved_since(render: Render, record: FarmRecord, at: datetime, *, skew: timedelta) -> bool:
    """Whether the record surely has not changed since `at`, however far off the farm's clock may be."""
    if render.last_change_at is not None and seen(render) == record.fingerprint and render.last_change_at < at:
        return True
    return record.updated_at is not None and record.updated_at + skew < at


def _observed(render: Render, record: FarmRecord, now: datetime) -> datetime:
    """Our own last observed change. What nobody has looked at yet counts from its submission."""
    before = seen(render)
    if before is not None and before != record.fingerprint:
        return now
    return render.last_change_at or render.submitted_at or now


def _since(before: datetime | None, now: datetime) -> datetime:
    """The start of a series; one that lies in the future (a clock went back) starts anew."""
    return now if before is None or before > now else before


def _with(render: Render, **fields: Any) -> Render:
    return render.model_copy(update=fields)
