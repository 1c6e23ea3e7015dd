"""Structured slots of a text: statuses and machine codes, and how deep they lie.

A number is a status only in a place that says so: a key (`"status": 503`,
`Status Code: 400`), a protocol line (`HTTP/1.1 403`), a number before its own
reason phrase (`502 Bad Gateway`), or right behind the word error. Any other
number is a number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Slot:
    """A value in a structured place, with its span and depth."""

    key: str
    value: str
    start: int
    end: int
    depth: int


_REASONS = (
    "bad request|unauthorized|payment required|forbidden|not found|method not allowed|not acceptable|request time-?out"
    "|conflict|gone|length required|precondition failed|payload too large|request entity too large|content too large"
    "|uri too long|unsupported media type|range not satisfiable|unprocessable|locked|too early|too many requests"
    "|unavailable for legal|internal server error|internal error|not implemented|bad gateway|service (?:temporarily )?"
    "unavailable|gateway time-?out|slow down|server error|server is busy|web server|connection timed out|origin is"
    "|a time-?out occurred|ssl handshake|site is overloaded|overloaded"
)
_UNITS = "ms|s|sec|seconds?|minutes?|[kMG]i?B|bytes|frames?|px|%|images?|files?|characters|times|attempts|rows|of|/"
_STATUS = re.compile(
    # HTTP/1.1 403, HTTP 429, HTTP Error 503
    r"\bHTTP(?:/[0-9.]{1,3})?[ _-]?(?:status|error|code|response)?(?: code)?(?: of)?[ :=#(\[]{0,3}"
    r"(?P<http>[1-9][0-9]{2})\b(?!\.[0-9])"
    # 502 Bad Gateway, Too Many Requests (429)
    rf"|(?<![\w.])(?P<reason>[45][0-9]{{2}})\b[\]):,]?[ \-–—|:\"'(]{{0,4}}(?=(?:{_REASONS}))"
    rf"|(?:{_REASONS})[ :,(\[-]{{1,3}}(?:HTTP |status |code |error )?(?P<after>[45][0-9]{{2}})(?=[)\]\s.,;]|$)"
    # status code 504, server responded with a status of 422, API error 400
    r"|\b(?:status|response|server|upstream|api|service|gateway)[ _-]?"
    r"(?:was|is|of|code|responded|returned|answered|replied|sent)?"
    r"(?: with)?(?: an?)?(?: status)?(?: code)?(?: of)?(?: error)?(?: http)?(?: response)?[ :=(]{1,3}"
    r"(?P<word>[45][0-9]{2})\b(?![.,]?[0-9]|%)"
    # Error: 401, Error code: 529, upload failed: 403
    r"|(?:error|exception|failed|failure|fehler|erreur|错误|失败|エラー)[ :(\[]{0,3}"
    r"(?:code|status|http|no)?[ :#(\[]{0,3}"
    rf"(?P<error>[45][0-9]{{2}})\b(?![.,]?[0-9]|[ ]?(?:{_UNITS})\b)"
    # 'detail': '400: ...'
    r"|[\"'](?P<quoted>[45][0-9]{2})(?: ?[:–—-]| [A-Za-z])"
    # got 429, returned 502 from, in a 503 response
    r"|\b(?:got|returned|responded with|received|code|returned error|failed with|resulted in an?|in an?|with)[ `]{1,2}"
    r"(?P<verb>[45][0-9]{2})\b(?=[\s`)]{0,2}(?:error|response|status|$|[.,:;\n]|from|on|for|\())"
    # 422 The input was flagged (at the start of the text only)
    r"|^[\s\[(]{0,4}(?P<leading>[45][0-9]{2})\b(?=[\])]{0,1}[ ]{0,2}(?:[-–—:{|]|(?-i:[A-Z])|\.\.\.|$))"
    # Service unavailable (503), but not a frame number after a time code
    r"|(?<=[A-Za-z.][ ])\([ ]?(?P<parenthesised>[45][0-9]{2})[ ]?\)",
    re.IGNORECASE,
)
_KEYED = re.compile(
    r"(?<![A-Za-z0-9])[\"']?"
    r"(?P<key>(?:[a-z_]{0,24}?status(?:[ _-]?code|[ _-]?msg)?|[a-z_]{0,24}?code|[a-z_]{0,24}?reason|"
    r"[a-z_]{0,16}?type|errno|err|error|name|exception|kind|failure|category|status_text|detail|details))"
    r"[\"']?[ ]{0,3}(?:=>|[:=]{1,2})[ ]{0,3}[\"'(<]{0,2}(?P<value>-?[0-9]{1,6}(?![\w.%])|[A-Za-z_][\w.:/-]{1,100})",
    re.IGNORECASE,
)
_STATUS_KEYS = frozenset(
    {"status", "statuscode", "httpstatus", "httpstatuscode", "httpcode", "responsecode", "code", "errorcode", "errcode",
     "responsestatus", "error", "apistatuscode", "upstreamstatus", "failurecode", "rawstatus", "taskstatuscode"}
)  # fmt: skip
_NEVER_CODES = frozenset({"name", "detail", "details"})
_DEEPER = re.compile(r"caused by|cause:|reason:|root cause|inner exception|--->", re.IGNORECASE)
_KNOWN = frozenset({*range(400, 432), 440, 444, 451, 460, 463, *range(494, 512), *range(520, 531), 598, 599})
"""Error statuses that exist: RFC 9110, nginx, IIS, AWS load balancers, Cloudflare."""
MAX_SLOTS = 4_000


class Depths:
    """How many errors a place is nested in: open braces, and "caused by" before it."""

    def __init__(self, text: str) -> None:
        steps = [(m.start(), 1 if m[0] == "{" else -1) for m in re.finditer(r"[{}]", text)]
        steps += [(m.start(), 1) for m in _DEEPER.finditer(text)]
        steps.sort()
        self._at = [at for at, _ in steps]
        self._depth = [0, *accumulate(step for _, step in steps)]

    def of(self, place: int) -> int:
        """The depth at an offset."""
        return self._depth[bisect_right(self._at, place)]


def statuses(text: str, depths: Depths) -> Iterator[Slot]:
    """HTTP error statuses (400-599) in structured places."""
    for count, match in enumerate(_STATUS.finditer(text)):
        if count == MAX_SLOTS:
            return
        key = match.lastgroup or ""
        if _is_error_status(match[key]):
            yield Slot(key, match[key], match.start(), match.end(), depths.of(match.start(key)))
    for slot in keyed(text, depths):
        if _is_error_status(slot.value) and slot.key in _STATUS_KEYS:
            yield slot


def keyed(text: str, depths: Depths) -> Iterator[Slot]:
    """Values behind keys that hold codes: `code`, `status`, `reason`, `type`, `errno` and their like."""
    for count, match in enumerate(_KEYED.finditer(text)):
        if count == MAX_SLOTS:
            return
        key = "".join(c for c in match["key"].lower() if c.isalnum())
        yield Slot(key, match["value"].rstrip(".:/-"), match.start(), match.end(), depths.of(match.start()))


def is_code_key(key: str) -> bool:
    """Whether a value behind this key may be read as a machine code even when it looks like a plain word."""
    return key not in _NEVER_CODES


def _is_error_status(value: str) -> bool:
    return value.isascii() and value.isdigit() and int(value) in _KNOWN
