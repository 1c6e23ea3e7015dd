"""From findings and the place of the failure to a class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mos.domain.errors import FailureClass
from mos.domain.taxonomy.causes import Cause, Classification
from mos.domain.taxonomy.context import MOVING, Place, Scene, scene_of
from mos.domain.taxonomy.facts import Facts, facts_of
from mos.domain.taxonomy.findings import findings_of

EVIDENCE_CHARS = 200
NOTHING = "nothing_matched"
_TEMPLATE_RULE = "template.state"

_ALSO_AT_THE_TEMPLATE = {FailureClass.UNKNOWN, FailureClass.PROVIDER_REJECTION}
"""Storage answers 403 for an object that is not there to those who may not list."""

_ALWAYS = {
    Cause.DISK_FULL: FailureClass.INFRASTRUCTURE,
    Cause.HOST_MEMORY: FailureClass.INFRASTRUCTURE,
    Cause.HOST_FAULT: FailureClass.INFRASTRUCTURE,
    Cause.EXPIRED: FailureClass.TEMPLATE_TRANSFER,
    Cause.TRANSFER: FailureClass.TEMPLATE_TRANSFER,
    Cause.STRANDED: FailureClass.STRANDED_PIPELINE,
    Cause.TEMPLATE_MISSING: FailureClass.TEMPLATE_UNAVAILABLE,
    Cause.REFUSED: FailureClass.PROVIDER_REJECTION,
    Cause.FUNDS: FailureClass.PROVIDER_REJECTION,
    Cause.AUTH: FailureClass.PROVIDER_REJECTION,
    Cause.MEDIA: FailureClass.MEDIA_OR_TEMPLATE,
    Cause.OWN_BUG: FailureClass.UNKNOWN,
}
_STORAGE_WORDS = frozenset(
    {"s3", "maskedstorage", "gcs", "bucket", "blob", "maskedaep", "multipart", "putobject", "getobject"}
)
_PROVIDER_WORDS = frozenset(
    {
        "maskedprovider", "openai", "anthropic", "claude", "gemini", "vertex", "veo", "imagen", "runway", "runwayml",
        "kling", "klingai", "luma", "replicate", "elevenlabs", "minimax", "hailuo", "seedance", "dashscope", "litellm",
    }
)  # fmt: skip
_OUR_HOST = frozenset({Cause.DISK_FULL, Cause.HOST_MEMORY, Cause.HOST_FAULT})


def classify_production_failure(
    error: str | Mapping[str, Any], context: Mapping[str, Any] | None = None
) -> Classification:
    """The failure class of a production error (specification §3.5). Pure, total, bounded.

    Args:
        error: the text as it was recorded, or a mapping with structured facts
            (`status`, `code`, `exceptionType`, `message`, nested as they came).
        context: where it failed: `step`, `service`, `runner`, `template_state`.

    Returns:
        The class, the rule that decided and the evidence it read.
    """
    facts = facts_of(error)
    scene = _seen_in(facts, scene_of(context))
    best = max(findings_of(facts, scene.place), key=lambda f: f.weight, default=None)
    if best is None:
        return _with_template(Classification(failure_class=FailureClass.UNKNOWN, rule=NOTHING, evidence=""), scene)
    failure_class = class_of(best.cause, scene)
    evidence = " ".join(facts.text[best.start : best.end].split())[:EVIDENCE_CHARS]
    return _with_template(Classification(failure_class=failure_class, rule=best.rule, evidence=evidence), scene)


def class_of(cause: Cause, scene: Scene) -> FailureClass:
    """The class of a cause at a place."""
    if cause in _OUR_HOST and scene.remote:
        return FailureClass.PROVIDER_TIMEOUT
    known = _ALWAYS.get(cause)
    if known is not None:
        return known
    match cause:
        case Cause.NETWORK:
            return _of_network(scene)
        case Cause.TIMEOUT:
            return _of_timeout(scene)
        case Cause.SERVER | Cause.THROTTLE:
            return FailureClass.TEMPLATE_TRANSFER if scene.place in MOVING else FailureClass.PROVIDER_TIMEOUT
        case Cause.OBJECT_MISSING:
            return _of_missing(scene)
        case Cause.BAD_ARCHIVE:
            return FailureClass.TEMPLATE_TRANSFER if scene.moving else FailureClass.TEMPLATE_UNAVAILABLE
        case _:
            return _of_bad_request(scene)


def _of_network(scene: Scene) -> FailureClass:
    if scene.place in MOVING:
        return FailureClass.TEMPLATE_TRANSFER
    match scene.place:
        case Place.PROVIDER | Place.STATE:
            return FailureClass.PROVIDER_TIMEOUT
        case Place.QUEUE:
            return FailureClass.STRANDED_PIPELINE
        case _:
            return FailureClass.TEMPLATE_TRANSFER


def _of_timeout(scene: Scene) -> FailureClass:
    if scene.place in MOVING:
        return FailureClass.TEMPLATE_TRANSFER
    match scene.place:
        case Place.QUEUE:
            return FailureClass.STRANDED_PIPELINE
        case Place.RENDER | Place.MEDIA:
            return FailureClass.INFRASTRUCTURE
        case _:
            return FailureClass.PROVIDER_TIMEOUT


def _of_missing(scene: Scene) -> FailureClass:
    if scene.asset:
        return FailureClass.MEDIA_OR_TEMPLATE
    match scene.place:
        case Place.PROVIDER:
            return FailureClass.PROVIDER_REJECTION
        case Place.STATE | Place.QUEUE:
            return FailureClass.UNKNOWN
        case Place.MEDIA | Place.RENDER:
            return FailureClass.MEDIA_OR_TEMPLATE
        case _:
            return FailureClass.TEMPLATE_UNAVAILABLE


def _of_bad_request(scene: Scene) -> FailureClass:
    match scene.place:
        case Place.MEDIA:
            return FailureClass.MEDIA_OR_TEMPLATE
        case Place.STATE | Place.QUEUE | Place.TRANSFER | Place.TEMPLATE:
            return FailureClass.UNKNOWN
        case _:
            return FailureClass.PROVIDER_REJECTION


def _seen_in(facts: Facts, scene: Scene) -> Scene:
    """Where no step is known, object storage or a provider named in the text tells the place."""
    if scene.place is not Place.ELSEWHERE:
        return scene
    words = {word.text for word in facts.words}
    if words & _STORAGE_WORDS:
        return replace(scene, place=Place.TRANSFER, moving=True)
    return replace(scene, place=Place.PROVIDER) if words & _PROVIDER_WORDS else scene


def _with_template(found: Classification, scene: Scene) -> Classification:
    """A failed transfer of a template that is missing or unpublished: there is nothing to transfer."""
    if not scene.template_gone:
        return found
    excused = {FailureClass.TEMPLATE_TRANSFER} | (_ALSO_AT_THE_TEMPLATE if scene.template_step else set())
    if found.failure_class not in excused:
        return found
    return Classification(failure_class=FailureClass.TEMPLATE_UNAVAILABLE, rule=_TEMPLATE_RULE, evidence=found.evidence)
