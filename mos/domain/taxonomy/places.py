"""The weakest rules: words that decide where little else can be meant, and only when nothing better did."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.context import Place
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="place.queue",
        cause=Cause.STRANDED,
        rank=Rank.TAIL,
        places=frozenset({Place.QUEUE}),
        phrases="""
            worker|workers|runner|agent|executor|process|consumer|lease|lock|heartbeat|pod|node|poller ..6
            lost|closed|dead|died|pruned|exited|killed|shutdown|expired|stale|offline|removed|gone|crash*|stopped|missed|failed|terminated|disappeared|reaped;
            stale; killed externally; shutdown signal; pruned; reaped; reaper; queued; not acknowledged; unacked;
            never ..6; redelivered; stuck; stalled; pickup; unclaimed; requeued; lease; heartbeat
        """,
    ),
    Rule(
        name="place.provider_request",
        cause=Cause.BAD_REQUEST,
        rank=Rank.TAIL,
        places=frozenset({Place.PROVIDER}),
        phrases="""
            invalid|unsupported|illegal|malformed|incorrect|unacceptable|disallowed; not
            valid|allowed|permitted|accepted|eligible|available|enabled; arent|isnt allowed|permitted; must
            be|have|not|contain; exceeds|exceed; rejected|refused|denied|blocked|violat*|banned|flagged; too
            large|small|short|big|many
        """,
    ),
    Rule(
        name="place.provider_later",
        cause=Cause.SERVER,
        rank=Rank.TAIL,
        places=frozenset({Place.PROVIDER}),
        phrases="""
            try again; retry; later; temporar*; busy; unavailable; not respond*; server ..3
            failed|error|issue|problem; no response; interrupted; aborted; terminated
        """,
    ),
    Rule(
        name="place.media",
        cause=Cause.MEDIA,
        rank=Rank.TAIL,
        places=frozenset({Place.MEDIA}),
        phrases="""
            invalid|corrupt*|unsupported|damaged|truncated|malformed|undecodable|unrecogni*;
            read|parse|decode|decoding|demux|codec|stream|pixel|frame|muxer|filter|encoder|decoder ..3
            error|failed|failure; error ..3 read*|decod*|pars*|open*|demux*|mux*; buffer|file|input|image|video|audio
            ..2 is empty; exited with code 1; exit* ..3 code|status 1
        """,
    ),
    Rule(
        name="place.render",
        cause=Cause.MEDIA,
        rank=Rank.TAIL,
        places=frozenset({Place.RENDER}),
        phrases="""
            aerender|aftereffects|layer|layers|composition|comp|footage|expression|font|script|effect|jsx|keyframe ..8
            error|failed|fail|missing|not|invalid|cannot|cant|couldnt|unable|unsupported|null; aerender error; error
            ..6 layer|composition|comp|footage|expression|font|effect|jsx|aerender; after effects ..4
            error|failed|cannot|cant|can|unable; aerender exe failed
        """,
    ),
    Rule(
        name="place.template",
        cause=Cause.TEMPLATE_MISSING,
        rank=Rank.TAIL,
        places=frozenset({Place.TEMPLATE}),
        phrases="""
            template|bundle|project|package|manifest ..6
            not|missing|invalid|empty|deleted|removed|absent|expected|unpublished|retired; not found; does not exist;
            missing
        """,
    ),
)
