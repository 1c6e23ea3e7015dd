"""Where it failed: the context's step, service and template, read leniently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Place(StrEnum):
    """The kind of work that failed; it turns a bare "connection reset" into a class."""

    TEMPLATE = "template"
    TRANSFER = "transfer"
    PROVIDER = "provider"
    RENDER = "render"
    MEDIA = "media"
    QUEUE = "queue"
    STATE = "state"
    ELSEWHERE = "elsewhere"


_STEPS: tuple[tuple[Place, tuple[str, ...]], ...] = (
    (Place.QUEUE, ("queue", "dispatch", "claim", "pickup", "schedul", "receive", "enqueue")),
    (Place.STATE, ("state", "firestore", "mongo", "database", "persist", "commit")),
    (Place.TEMPLATE, ("template", "bundle", "project_file", "unpack")),
    (Place.TRANSFER, ("download", "upload", "transfer", "copy", "fetch", "sync", "deliver", "s3", "storage", "move")),
    (Place.RENDER, ("render", "nexrender", "after_effects", "composite")),
    (
        Place.MEDIA,
        ("encode", "transcode", "media", "ffmpeg", "probe", "thumbnail", "mux", "stitch", "concat", "reorder"),
    ),
    (
        Place.PROVIDER,
        ("generate", "provider", "image", "video", "voice", "speech", "audio", "tts", "music", "lip", "frame_expand",
         "upscale", "inpaint", "edit", "llm", "prompt", "script", "caption", "moderation", "poll"),
    ),
)  # fmt: skip
_SERVICES: tuple[tuple[Place, tuple[str, ...]], ...] = (
    (Place.QUEUE, ("sqs", "queue", "celery", "temporal", "bull", "rabbit")),
    (Place.STATE, ("firestore", "mongo", "datastore", "dynamo", "postgres", "redis")),
    (Place.TRANSFER, ("s3", "gcs", "storage", "blob", "r2", "efs", "cdn")),
    (Place.RENDER, ("nexrender", "aerender", "after")),
    (Place.MEDIA, ("ffmpeg", "pyav", "pillow", "sharp", "imagemagick")),
    (
        Place.PROVIDER,
        ("veo", "gemini", "openai", "anthropic", "vertex", "runway", "kling", "luma", "replicate", "fal", "stability",
         "eleven", "minimax", "seedance", "imagen", "provider", "azure", "bedrock", "pika", "vidu", "hailuo", "google"),
    ),
)  # fmt: skip
_REMOTE = ("remote", "provider", "external", "managed", "thirdparty", "vendor")
_UNPACKING = ("unpack", "extract", "resolve", "validate", "decompress", "unzip", "open", "inspect")
MOVING = (Place.TRANSFER, Place.TEMPLATE)
_GONE = frozenset(
    {
        "missing", "unpublished", "notpublished", "deleted", "archived", "draft", "notfound", "unavailable", "removed",
        "absent", "disabled", "inactive", "retired", "none", "no", "false", "empty", "withdrawn", "revoked", "gone",
    }
)  # fmt: skip
_STATE_KEYS = frozenset({"templatestate", "templatestatus", "bundlestate", "bundlestatus"})
_FLAG_KEYS = frozenset({"templateexists", "templatepublished", "templateavailable", "bundleexists", "templatefound"})
_NEGATIVE_KEYS = frozenset({"templatemissing", "templateunpublished", "templatedeleted"})
_INNER_KEYS = frozenset({"state", "status", "exists", "published", "available"})


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The context as the rules use it."""

    place: Place
    remote: bool
    """The machine that failed is a provider's, whatever it complains of."""
    moving: bool
    """Files were being moved, rather than unpacked or resolved."""
    asset: bool
    """Storage failed a step that works on assets: what is missing there is no template."""
    template_gone: bool
    template_step: bool


def scene_of(context: Mapping[str, Any] | None) -> Scene:
    """Read step, service, runner and template state; unknown keys and types are ignored.

    A named service is more precise than the step: an image step whose storage
    call failed failed while moving.
    """
    known = {_plain(key): value for key, value in (context or {}).items() if isinstance(key, str)}
    step = _snake(known.get("step") or known.get("steptype") or known.get("stage") or known.get("operation"))
    service = _snake(known.get("service") or known.get("provider"))
    by_step, by_service = _by(_STEPS, step), _by(_SERVICES, service)
    place = by_step if by_service is Place.ELSEWHERE else by_service
    runner = _plain(known.get("runner") or known.get("host"))
    return Scene(
        place=place,
        remote=any(mark in runner for mark in _REMOTE),
        moving=place in MOVING and not any(mark in step for mark in _UNPACKING),
        asset=by_service is Place.TRANSFER and by_step in {Place.PROVIDER, Place.MEDIA},
        template_gone=_template_gone(known),
        template_step=by_step is Place.TEMPLATE,
    )


def _by(table: tuple[tuple[Place, tuple[str, ...]], ...], name: str) -> Place:
    return next((place for place, marks in table if name and any(mark in name for mark in marks)), Place.ELSEWHERE)


def _template_gone(known: Mapping[str, Any]) -> bool:
    inner = known.get("template")
    if isinstance(inner, Mapping):
        nested = {_plain(k): v for k, v in inner.items() if isinstance(k, str) and _plain(k) in _INNER_KEYS}
        if any(_says_gone(value) for value in nested.values()):
            return True
    elif isinstance(inner, str) and _plain(inner) in _GONE:
        return True
    if any(known.get(key) is True for key in _NEGATIVE_KEYS):
        return True
    return any(_says_gone(known[key]) for key in _STATE_KEYS | _FLAG_KEYS if key in known)


def _says_gone(value: object) -> bool:
    return value is False or (isinstance(value, str) and _plain(value) in _GONE)


def _plain(value: object) -> str:
    return "".join(c for c in value.lower() if c.isalnum()) if isinstance(value, str) else ""


def _snake(value: object) -> str:
    return value[:200].lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
