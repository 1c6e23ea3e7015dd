"""Numeric codes, each only in the slot that gives it a meaning: errno, Windows, exit codes, providers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mos.domain.taxonomy.causes import Cause, Finding, Rank
from mos.domain.taxonomy.slots import Depths, Slot

_ERRNO = {
    5: Cause.HOST_FAULT, 12: Cause.HOST_MEMORY, 16: Cause.HOST_FAULT, 23: Cause.HOST_FAULT, 24: Cause.HOST_FAULT,
    28: Cause.DISK_FULL, 30: Cause.HOST_FAULT, 32: Cause.NETWORK, 101: Cause.NETWORK, 103: Cause.NETWORK,
    104: Cause.NETWORK, 110: Cause.TIMEOUT, 111: Cause.NETWORK, 113: Cause.NETWORK, 122: Cause.DISK_FULL,
    54: Cause.NETWORK, 60: Cause.TIMEOUT, 61: Cause.NETWORK, 69: Cause.DISK_FULL,
}  # fmt: skip
_WINDOWS = {
    4: Cause.HOST_FAULT, 8: Cause.HOST_MEMORY, 14: Cause.HOST_MEMORY, 32: Cause.HOST_FAULT, 33: Cause.HOST_FAULT,
    39: Cause.DISK_FULL, 53: Cause.TRANSFER, 55: Cause.TRANSFER, 59: Cause.TRANSFER, 64: Cause.TRANSFER,
    67: Cause.TRANSFER, 112: Cause.DISK_FULL, 121: Cause.TRANSFER, 1450: Cause.HOST_MEMORY, 1455: Cause.HOST_MEMORY,
    1117: Cause.HOST_FAULT, 1231: Cause.TRANSFER, 1295: Cause.DISK_FULL, 1130: Cause.HOST_MEMORY,
    10038: Cause.NETWORK, 10050: Cause.NETWORK, 10051: Cause.NETWORK, 10052: Cause.NETWORK, 10053: Cause.NETWORK,
    10054: Cause.NETWORK, 10055: Cause.HOST_FAULT, 10060: Cause.TIMEOUT, 10061: Cause.NETWORK, 10065: Cause.NETWORK,
    11001: Cause.NETWORK, 11002: Cause.NETWORK, 12002: Cause.TIMEOUT, 12007: Cause.NETWORK, 12029: Cause.NETWORK,
}  # fmt: skip
"""System errors of Windows (winerror.h); numbers that mean other things on Linux are read only as WinError."""
_EPIPE, _FIRST_WINSOCK = 32, 10_000
_WINSOCK = {number: cause for number, cause in _WINDOWS.items() if number > _FIRST_WINSOCK}
_RUST = {n: c for n, c in _ERRNO.items() if n != _EPIPE} | {n: _WINDOWS[n] for n in (39, 112, 1450, 1455)} | _WINSOCK
"""`os error N` of Rust names no system: numbers above the kernel's errno range, and 112, are Windows."""
_HRESULT = {
    "80070070": Cause.DISK_FULL, "80070027": Cause.DISK_FULL, "8007000e": Cause.HOST_MEMORY,
    "800705aa": Cause.HOST_MEMORY, "800705af": Cause.HOST_MEMORY, "c0000017": Cause.HOST_MEMORY,
    "c000012d": Cause.HOST_MEMORY, "80070020": Cause.HOST_FAULT, "80070035": Cause.TRANSFER, "80070040": Cause.TRANSFER,
    "80072ee2": Cause.TIMEOUT, "80072efd": Cause.NETWORK, "80072efe": Cause.NETWORK, "80072ee7": Cause.NETWORK,
    "c000007f": Cause.DISK_FULL, "80030070": Cause.DISK_FULL,
}  # fmt: skip
_KILLED = {137: Cause.HOST_MEMORY, -9: Cause.HOST_MEMORY, 143: Cause.HOST_FAULT, -15: Cause.HOST_FAULT}

_SYSTEM = re.compile(
    r"\b(?:(?P<win>WinError|Win32 ?error(?: code)?|System error|WSA(?:GetLastError)?|GetLastError(?:\(\))?"
    r"|Windows error)"
    r"|(?P<rust>os error)|(?P<errno>Errno|err no|error ?no))[ \]:=(]{0,3}(?P<number>-?[0-9]{1,6})\b",
    re.IGNORECASE,
)
_HEX = re.compile(r"\b0x(?P<hex>[0-9a-f]{8})\b", re.IGNORECASE)
_EXIT = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: \(?code| status| value)?|exit-?code"
    r"|return(?:ed)?(?: ?code| non-zero exit status| status)?|code|status)[ \"':=(]{1,4}"
    r"(?P<exit>137|-9|143|-15)\b(?![.,]?[0-9])",
    re.IGNORECASE,
)
_SIGNAL = re.compile(
    r"\bsignal[ :=(]{1,3}(?:9\b|(?:SIG)?KILL\b)|\bSIGKILL\b|\bkilled by signal 9\b|signal=9\b", re.IGNORECASE
)

_BASE_RESP = {
    1001: Cause.SERVER, 1002: Cause.THROTTLE, 1004: Cause.AUTH, 1008: Cause.FUNDS, 1013: Cause.SERVER,
    1024: Cause.SERVER, 1026: Cause.REFUSED, 1027: Cause.REFUSED, 1033: Cause.SERVER, 1039: Cause.THROTTLE,
    1041: Cause.THROTTLE, 2013: Cause.BAD_REQUEST, 2049: Cause.AUTH, 2056: Cause.THROTTLE, 2038: Cause.AUTH,
}  # fmt: skip
"""MiniMax, in `base_resp.status_code`."""
_TASK_CODE = {
    1000: Cause.AUTH, 1001: Cause.AUTH, 1002: Cause.AUTH, 1003: Cause.AUTH, 1004: Cause.AUTH, 1100: Cause.FUNDS,
    1101: Cause.FUNDS, 1102: Cause.FUNDS, 1103: Cause.AUTH, 1112: Cause.AUTH, 1113: Cause.FUNDS,
    1200: Cause.BAD_REQUEST,
    1201: Cause.BAD_REQUEST, 1202: Cause.BAD_REQUEST, 1203: Cause.BAD_REQUEST, 1210: Cause.BAD_REQUEST,
    1211: Cause.BAD_REQUEST, 1213: Cause.BAD_REQUEST, 1214: Cause.BAD_REQUEST, 1230: Cause.SERVER, 1234: Cause.SERVER,
    1261: Cause.BAD_REQUEST, 1300: Cause.REFUSED, 1301: Cause.REFUSED, 1302: Cause.THROTTLE, 1303: Cause.THROTTLE,
    1304: Cause.AUTH, 1305: Cause.THROTTLE, 5000: Cause.SERVER, 5001: Cause.SERVER, 5002: Cause.SERVER,
    50411: Cause.REFUSED, 50412: Cause.REFUSED, 50413: Cause.REFUSED, 50511: Cause.REFUSED, 50512: Cause.REFUSED,
    50429: Cause.THROTTLE, 50430: Cause.THROTTLE, 50500: Cause.SERVER, 50501: Cause.SERVER,
}  # fmt: skip
"""Kling, Zhipu and Volcengine, in `code`."""
_REPLICATE = {
    "E001": Cause.SERVER, "E003": Cause.SERVER, "E004": Cause.SERVER, "E005": Cause.REFUSED,
    "E006": Cause.BAD_REQUEST,
    "E1000": Cause.SERVER, "E1001": Cause.SERVER, "E8765": Cause.SERVER, "E6716": Cause.SERVER, "E8367": Cause.SERVER,
    "E9825": Cause.TRANSFER, "E4875": Cause.TRANSFER, "E9243": Cause.SERVER, "E8000": Cause.SERVER, "PA": Cause.SERVER,
}  # fmt: skip
_IN_BRACKETS = re.compile(r"\((?:code: )?(?P<code>E[0-9]{3,4}|PA)\)")


def number_findings(text: str, slots: list[Slot], depths: Depths) -> Iterator[Finding]:
    """Every numeric code that stands in its own slot."""
    for match in _SYSTEM.finditer(text):
        yield from _finding("errno", _system(match), match, depths)
    for match in _HEX.finditer(text):
        yield from _finding("hresult", _HRESULT.get(match["hex"].lower()), match, depths)
    for match in _EXIT.finditer(text):
        yield from _finding("exit_code", _KILLED.get(int(match["exit"])), match, depths)
    for match in _SIGNAL.finditer(text):
        yield from _finding("signal", Cause.HOST_MEMORY, match, depths)
    for match in _IN_BRACKETS.finditer(text):
        yield from _finding("provider_code", _REPLICATE.get(match["code"]), match, depths)
    yield from _of_slots(text, slots)


def _system(match: re.Match[str]) -> Cause | None:
    number = abs(int(match["number"]))
    if match["win"]:
        return _WINDOWS.get(number)
    return (_RUST if match["rust"] else _ERRNO | _WINSOCK).get(number)


def _of_slots(text: str, slots: list[Slot]) -> Iterator[Finding]:
    base_resp = "base_resp" in text or "baseResp" in text
    for slot in slots:
        if slot.key == "statuscode" and base_resp:
            cause = _BASE_RESP.get(_number(slot.value))
        elif slot.key in {"errno", "oserror"}:
            cause = _ERRNO.get(abs(_number(slot.value)))
        elif slot.key in {"code", "errorcode", "errcode"}:
            cause = _TASK_CODE.get(_number(slot.value)) or _REPLICATE.get(slot.value)
        else:
            cause = None
        if cause is not None:
            yield Finding(
                rule=f"number.{slot.key}.{cause}", cause=cause, rank=Rank.CODE,
                depth=slot.depth, start=slot.start, end=slot.end,
            )  # fmt: skip


def _number(value: str) -> int:
    return int(value) if value.lstrip("-").isdecimal() and value.isascii() else 0


def _finding(name: str, cause: Cause | None, match: re.Match[str], depths: Depths) -> Iterator[Finding]:
    if cause is not None:
        rank = Rank.GENERIC if cause is Cause.TIMEOUT else Rank.CODE
        yield Finding(
            rule=f"number.{name}.{cause}", cause=cause, rank=rank,
            depth=depths.of(match.start()), start=match.start(), end=match.end(),
        )  # fmt: skip
