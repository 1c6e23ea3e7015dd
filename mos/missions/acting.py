"""Carrying out acts: each in a transaction of its own, several at a time, none stopping the others (§3.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mos import logs
from mos.domain.errors import AppError, ConflictError
from mos.missions.base import ActResult, Outcome
from mos.runtime import Runtime

Act = TypeVar("Act")
Perform = Callable[[Act], ActResult]
Describe = Callable[[Act], tuple[str, str, str]]
"""(kind, subject, reason) of an act."""
WIDTH = 8
log = logs.logger(__name__)


def carry_out(
    acts: Sequence[Act], perform: Perform[Act], describe: Describe[Act], runtime: Runtime, *, width: int = WIDTH
) -> list[ActResult]:
    """The results in the order of the acts. With a width of one, everything runs in the calling thread."""
    results: dict[int, ActResult] = {}

    def work(start: int) -> None:
        for index in range(start, len(acts), max(1, width)):
            results[index] = _one(acts[index], perform, describe)

    if width <= 1 or len(acts) <= 1:
        for index, act in enumerate(acts):
            results[index] = _one(act, perform, describe)
    else:
        threads = [
            runtime.spawn(lambda start=start: work(start), name=f"act-{start}")  # type: ignore[misc]
            for start in range(min(width, len(acts)))
        ]
        for thread in threads:
            thread.join()
    return [results.get(index) or _lost(describe(act)) for index, act in enumerate(acts)]


def _lost(described: tuple[str, str, str]) -> ActResult:
    """Its thread ended without a word."""
    return ActResult(*described, Outcome.FAILED, "it was broken off")


def _one(act: Act, perform: Perform[Act], describe: Describe[Act]) -> ActResult:
    kind, subject, reason = describe(act)
    try:
        return perform(act)
    except ConflictError as error:
        return ActResult(kind, subject, reason, Outcome.OVERTAKEN, error.message)
    except AppError as error:
        log.warning("an act failed; the others go on", act=kind, subject=subject, problem=error.message)
        return ActResult(kind, subject, reason, Outcome.FAILED, error.message)
    except Exception as error:
        log.exception("an act failed; the others go on", act=kind, subject=subject)
        return ActResult(kind, subject, reason, Outcome.FAILED, f"{type(error).__name__}: {error}")
