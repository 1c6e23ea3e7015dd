"""Faults on purpose: refused calls, applied but unanswered ones, latency, broken streams; by script or by seed.

A rule is plain data, so that it can come from a file, over the wire, or from a test:

    {"fault": "error", "method": "Commit", "code": "ABORTED", "times": 2}
    {"fault": "unanswered", "method": "Commit", "containing": "tasks/t1", "code": "DEADLINE_EXCEEDED"}
    {"fault": "latency", "method": "*", "seconds": 0.2, "caller": "reaper", "probability": 0.1, "times": 0}
    {"fault": "break", "method": "RunQuery", "after": 5}
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

import grpc

from mos.local.firestore.injected import grpc_error

ANY = "*"


class Kind(StrEnum):
    """What goes wrong."""

    ERROR = "error"  # the call is refused, nothing happens
    UNANSWERED = "unanswered"  # the call takes effect, the caller gets an error
    LATENCY = "latency"  # the call takes longer
    BREAK = "break"  # a stream ends with an error after some answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fault and the calls that it meets.

    Attributes:
        fault: what goes wrong.
        method: the RPC's name, or `*`.
        caller: only calls with this tag.
        containing: only requests that carry this text, such as a document path.
        skip: matching calls to let pass first.
        times: how often it strikes; 0 = without end.
        probability: the chance that it strikes a matching call.
        code: the gRPC status that the caller gets.
        seconds: the latency.
        after: answers of a stream before it breaks.
    """

    fault: Kind
    method: str = ANY
    caller: str | None = None
    containing: str = ""
    skip: int = 0
    times: int = 1
    probability: float = 1.0
    code: str = "UNAVAILABLE"
    seconds: float = 0.0
    after: int = 0

    def matches(self, method: str, raw: bytes, caller: str) -> bool:
        """Whether a call is one of those that it is meant for."""
        return (
            self.method in {ANY, method}
            and self.caller in {None, caller}
            and (not self.containing or self.containing.encode() in raw)
        )


def rule(entry: Mapping[str, Any]) -> Rule:
    """A rule from plain data.

    Raises:
        ValueError: an entry, a kind or a status that does not exist.
    """
    unknown = set(entry) - {item.name for item in fields(Rule)}
    if unknown:
        raise ValueError(f"A fault rule has no entry {', '.join(sorted(unknown))}.")
    made = Rule(**{**entry, "fault": Kind(entry.get("fault", ""))})
    if made.code not in grpc.StatusCode.__members__:
        raise ValueError(f"{made.code} is not the name of a gRPC status.")
    return made


@dataclass(frozen=True, slots=True)
class Verdict:
    """What befalls one call."""

    delay: float = 0.0
    before: str | None = None
    after: str | None = None
    break_at: int | None = None
    break_code: str = "UNAVAILABLE"


NOTHING = Verdict()


class FaultScript:
    """Rules in order; each call meets every rule that matches it.

    Args:
        rules: as `Rule` or plain data.
        seed: decides what `probability` leaves open.
    """

    def __init__(self, rules: Iterable[Rule | Mapping[str, Any]] = (), *, seed: int = 0) -> None:
        self._seed = seed
        self.load(rules, seed=seed)

    def load(self, rules: Iterable[Rule | Mapping[str, Any]], *, seed: int | None = None) -> None:
        """Take these rules instead, their counts from zero."""
        ordered = [item if isinstance(item, Rule) else rule(item) for item in rules]
        self._dice = random.Random(self._seed if seed is None else seed)
        self._left: list[tuple[Rule, list[int]]] = [(item, [item.skip, item.times]) for item in ordered]
        self.struck: dict[str, int] = {}

    def as_data(self) -> list[dict[str, Any]]:
        """The rules that can still strike, as plain data with what is left of them."""
        return [
            {**asdict(item), "fault": item.fault.value, "skip": skip, "times": times}
            for item, (skip, times) in self._left
        ]

    def decide(self, method: str, raw: bytes, caller: str) -> Verdict:
        """What befalls this call."""
        if not self._left:
            return NOTHING
        verdict = NOTHING
        for item, counts in list(self._left):
            if item.matches(method, raw, caller) and self._strikes(item, counts):
                verdict = _add(verdict, item)
                self.struck[item.fault.value] = self.struck.get(item.fault.value, 0) + 1
        self._left = [(item, counts) for item, counts in self._left if item.times == 0 or counts[1] > 0]
        return verdict

    def _strikes(self, item: Rule, counts: list[int]) -> bool:
        if counts[0] > 0:
            counts[0] -= 1
            return False
        if item.probability < 1.0 and self._dice.random() >= item.probability:
            return False
        counts[1] -= 1
        return True

    def hook(self, sleep: Callable[[float], None], *, caller: str = "unknown") -> Callable[..., Any]:
        """The same faults for a client in this process (`connect(engine, hook=script.hook(sleep))`)."""

        def struck(name: str, request: Any, do: Callable[[], Any], timeout: float | None) -> Any:  # noqa: ARG001 - a hook's signature
            verdict = self.decide(name, request.SerializeToString(), caller)
            if verdict.delay:
                sleep(verdict.delay)
            if verdict.before:
                raise grpc_error(verdict.before)
            answer = do()
            if verdict.after:
                raise grpc_error(verdict.after)
            return answer if verdict.break_at is None else _broken(answer, verdict)

        return struck


def _add(verdict: Verdict, item: Rule) -> Verdict:
    match item.fault:
        case Kind.LATENCY:
            return replace(verdict, delay=verdict.delay + item.seconds)
        case Kind.ERROR:
            return replace(verdict, before=item.code)
        case Kind.UNANSWERED:
            return replace(verdict, after=item.code)
        case Kind.BREAK:
            return replace(verdict, break_at=item.after, break_code=item.code)


def _broken(answers: Iterable[bytes], verdict: Verdict) -> Iterator[bytes]:
    for number, answer in enumerate(answers):
        if number == verdict.break_at:
            break
        yield answer
    raise grpc_error(verdict.break_code)
