"""Renders: what the farm answers, and what render recovery does about it (§2.4, §3.3)."""

from __future__ import annotations

from mos.domain.rendering.acts import RenderAct, RenderActKind
from mos.domain.rendering.answers import Answer, Census, FarmRecord, Known, Missing, UnknownAnswer
from mos.domain.rendering.decide import RenderPlan, decide_render, decide_renders
from mos.domain.rendering.evidence import (
    HostLoss,
    Need,
    Output,
    OutputSeen,
    RenderEvidence,
    RenderLimits,
    StoreSeen,
    queue_of,
)
from mos.domain.rendering.observing import observe
from mos.domain.rendering.store import Doubtful, StoreLost, Trusted, judge_store
from mos.domain.rendering.stranded import StrandedAct, StrandedKind, decide_stranded
from mos.domain.rendering.submitted import MAX_SUBMISSIONS, may_submit

__all__ = [
    "MAX_SUBMISSIONS",
    "Answer",
    "Census",
    "Doubtful",
    "FarmRecord",
    "HostLoss",
    "Known",
    "Missing",
    "Need",
    "Output",
    "OutputSeen",
    "RenderAct",
    "RenderActKind",
    "RenderEvidence",
    "RenderLimits",
    "RenderPlan",
    "StoreLost",
    "StoreSeen",
    "StrandedAct",
    "StrandedKind",
    "Trusted",
    "UnknownAnswer",
    "decide_render",
    "decide_renders",
    "decide_stranded",
    "judge_store",
    "may_submit",
    "observe",
    "queue_of",
]
