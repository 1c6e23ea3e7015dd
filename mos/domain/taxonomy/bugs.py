"""Our own mistakes: a request built wrongly, a bug, a misconfigured worker, noise. Nothing here may be retried."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

PROGRAM = "bug.program"

RULES = (
    Rule(
        name=PROGRAM,
        cause=Cause.OWN_BUG,
        rank=Rank.WEAK_CODE,
        phrases="""
            cannot read propert* of; cannot read property; cannot set propert* of; cannot destructure property; is not
            iterable; undefined is not; is not defined; object has no attribute; object is not
            subscriptable|callable|iterable; list index out of range; object reference not set; missing ..2 required
            positional; unexpected keyword argument; nonetype; null pointer|reference; nil pointer dereference; index
            out of bounds|range; maximum call stack; maximum recursion depth; unexpected token; unexpected end of
            json; expecting value line; not valid json; invalid json; circular structure; cannot convert undefined; is
            not json serializable; no module named; cannot find module; division by zero; invalid literal for int;
            unhashable type; unsupported operand; codec cant|cannot decode|encode; cannot read properties; is not a
            constructor; assertion failed|error; expected ..3 got none|undefined|null
        """,
        unless="""
            fetch failed; failed to fetch; typeerror terminated; after effects; aerender; jsx; expression
        """,
    ),
    Rule(
        name="bug.state",
        cause=Cause.OWN_BUG,
        rank=Rank.CAUSE,
        phrases="""
            not a valid firestore; firestore value; duplicate key error; e11000; query requires an index; no document
            to update; document already exists; exceeds the maximum ..2 size; larger than ..2 maximum size; bson ..4
            too large|large|invalid; unsupported field value; nested arrays; cannot apply ..2 path; maximum ..2
            writes|document size; document ..4 exceeds|too large; longer than 1500 bytes; entity ..3 too large|big;
            invalid resource name|document; document path; invalid document reference; cast to objectid failed;
            validation failed ..4 path; violates ..4 constraint; unique constraint; foreign key constraint; must be
            shorter than; reads to be executed before all writes; conflicting ..3 field; immutable field; keys must
            not contain; data argument
        """,
    ),
    Rule(
        name="bug.configuration",
        cause=Cause.OWN_BUG,
        rank=Rank.TEXT,
        phrases="""
            proper path to after effects; environment variable*; is not set; not ..1 configured; misconfigur*; command
            not found; not recognized as an internal or external command; spawn ..2 enoent; enoent ..2 spawn; no such
            option; unknown|unexpected|unrecognized|invalid ..3 option|options|flag|switch|arguments; config* ..4
            missing|invalid|not; invalid ..2 configuration|config; feature flag; deprecated warning; sanity test;
            binary ..4 not|missing; could not find ..3 binary|executable|command|ffmpeg; permission denied ..3
            maskedpath; executable ..4 not found; unknown queue; queue ..3 does not exist; message ..3 too long;
            message must be shorter; unable to find ..3 binary; after effects ..3 not ..2 found|installed; no handler*
            ..3 for|registered; unregistered task; unknown ..1 step|task|handler|job ..1 type|name
        """,
    ),
)
