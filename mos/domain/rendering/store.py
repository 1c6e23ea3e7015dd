"""Whether the farm lost its store rather than a job: `RENDER_STORE_LOST` (§3.3).

A nexrender server whose file was emptied starts without a word, while its
renders go on and deliver. Then "no such job" is true of all of them and means
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from mos.domain.findings import FindingCode, Sighting
from mos.domain.rendering.answers import Census, UnknownAnswer
from mos.domain.rendering.evidence import RenderLimits, StoreSeen

SUBJECT = "farms/nexrender"
_SHOWN = 50


@dataclass(frozen=True)
class Trusted:
    """The farm knows its jobs: what it misses may really be gone."""

    uids: frozenset[str]


@dataclass(frozen=True)
class Doubtful:
    """Nobody can say, so nothing is submitted again."""

    reason: str


@dataclass(frozen=True)
class StoreLost:
    """Many active jobs are gone together: a person decides."""

    sighting: Sighting


StoreVerdict = Trusted | Doubtful | StoreLost


def judge_store(seen: StoreSeen, limits: RenderLimits) -> StoreVerdict:
    """The verdict on the farm's list of jobs, which every new submission of this tick rests on."""
    if not seen.healthy:
        return Doubtful("the farm's server is not healthy")
    match seen.census:
        case UnknownAnswer(reason):
            return Doubtful(f"the farm's list could not be read: {reason}")
        case Census(records):
            missing = sorted(seen.active - set(records))
            if _lost(len(missing), len(seen.active), len(records), limits):
                return StoreLost(_sighting(missing, len(seen.active), len(records)))
            return Trusted(frozenset(records))


def _lost(missing: int, active: int, listed: int, limits: RenderLimits) -> bool:
    if not missing:
        return False
    return not listed or (missing >= limits.mass_missing and missing >= active * limits.mass_share)


def _sighting(missing: list[str], active: int, listed: int) -> Sighting:
    evidence = {"missing": len(missing), "active": active, "listed": listed, "uids": missing[:_SHOWN]}
    return Sighting(FindingCode.RENDER_STORE_LOST, SUBJECT, evidence)
