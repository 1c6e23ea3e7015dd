"""What the parts of the taxonomy say to each other: causes, ranks, findings and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from mos.domain.errors import FailureClass


class Cause(StrEnum):
    """What went wrong, before the place where it happened turns it into a class."""

    DISK_FULL = "disk_full"
    HOST_MEMORY = "host_memory"
    HOST_FAULT = "host_fault"
    EXPIRED = "expired"
    """Temporary credentials or a presigned URL ran out: sign again and repeat."""
    TRANSFER = "transfer"
    NETWORK = "network"
    TIMEOUT = "timeout"
    SERVER = "server"
    THROTTLE = "throttle"
    STRANDED = "stranded"
    OBJECT_MISSING = "object_missing"
    TEMPLATE_MISSING = "template_missing"
    BAD_ARCHIVE = "bad_archive"
    """The bundle cannot be unpacked: a torn download where it was being moved, else a bad bundle."""
    REFUSED = "refused"
    """A provider's policy refused prompt, input or output."""
    FUNDS = "funds"
    """Permanent want of money or plan, unlike a rate limit."""
    AUTH = "auth"
    BAD_REQUEST = "bad_request"
    MEDIA = "media"
    OWN_BUG = "own_bug"


PERMANENT = frozenset(
    {
        Cause.OBJECT_MISSING, Cause.TEMPLATE_MISSING, Cause.BAD_ARCHIVE, Cause.REFUSED, Cause.FUNDS,
        Cause.AUTH, Cause.BAD_REQUEST, Cause.MEDIA, Cause.OWN_BUG,
    }
)  # fmt: skip
"""Causes that no repetition mends: where texts of one rank disagree, these win."""


class Rank(IntEnum):
    """How much a piece of evidence weighs. Machine code > structured status > text (specification §3.5).

    `CAUSE` stands between code and status on purpose: text that names a cause
    which no status can express (the disk is full, the balance is empty, the
    content was refused) says more than "500" or "429" around it.
    """

    TAIL = 10
    """Says that something failed, as the last line of a longer story."""
    GENERIC = 20
    """A time-out or a broken connection that may be the symptom of anything."""
    TEXT = 30
    WEAK_CODE = 40
    """A machine code that only names a category (`INVALID_ARGUMENT`, an exception's type)."""
    STATUS = 50
    CAUSE = 60
    CODE = 70


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One piece of evidence: the rule that saw it, where, and how deep inside nested errors."""

    rule: str
    cause: Cause
    rank: Rank
    depth: int
    start: int
    end: int

    @property
    def weight(self) -> tuple[int, int, int, int]:
        """The order of precedence: rank; for texts the permanent cause; inner before outer; the later one."""
        permanent = int(self.cause in PERMANENT)
        if self.rank in _TEXTS:
            return (self.rank, permanent, self.depth, self.start)
        return (self.rank, self.depth, permanent, self.start)


_TEXTS = frozenset({Rank.TAIL, Rank.GENERIC, Rank.TEXT, Rank.CAUSE})


@dataclass(frozen=True, kw_only=True)
class Classification:
    """The verdict on one failure.

    `rule` names the rule that decided, `evidence` is the span it read, cleaned
    of control characters and masked, at most 200 characters.
    """

    failure_class: FailureClass
    rule: str
    evidence: str

    @property
    def retryable(self) -> bool:
        """Whether automation may try again."""
        return self.failure_class.retryable
