"""Clean a text before it is read: bounded, without ANSI, controls, escapes and mark-up.

All of it is linear in a text that was first cut to `MAX_CHARS`: the head keeps
what failed, the tail keeps the innermost cause.
"""

from __future__ import annotations

import html
import re

HEAD_CHARS = 10_000
TAIL_CHARS = 14_000
MAX_CHARS = HEAD_CHARS + TAIL_CHARS + 1

_ANSI = re.compile(r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-_]")
_LITERAL_ANSI = re.compile(r"(?:\\u001b|\\x1b|\\033|\\e)\[[0-9;]{0,32}m|(?<=\s)\[[0-9;]{1,12}m", re.IGNORECASE)
_QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc"), "'")
_DOUBLE = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"')
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u202f\u3000\u2009\t\v\f"), " ")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e"), "")
_LINES = dict.fromkeys(map(ord, "\r\u2028\u2029\u0085"), "\n")
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_CONTROLS = {code: " " for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\r\t\v\f\x85"}
_TABLE = {**_CONTROLS, **_WIDE, **_QUOTES, **_DOUBLE, **_SPACES, **_NOTHING, **_LINES}

_ESCAPED_QUOTE = re.compile(r"\\{1,16}([\"'/])")
_ESCAPED_BREAK = re.compile(r"\\{1,16}[rn](?![a-z]{2}[a-z.\\])|\\{1,16}n(?=\\{0,16}[\"{}\[\]<]|\s|at )")
_ESCAPED_UNICODE = re.compile(r"\\{1,4}u([0-9a-fA-F]{4})")
_XML_CODE = re.compile(r"<(code|message|title|h1|h2|reason|status)(?: [^<>]{0,200})?>([^<]{0,600})", re.IGNORECASE)
_DROPPED = re.compile(r"<(?P<tag>script|style)\b[^<>]{0,300}>[^<]{0,20000}", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][\w:-]{0,40}(?:\s[^<>]{0,400})?/?>|<[!?][^<>]{0,400}>")


def clean(text: str) -> str:
    """One line per line, plain quotes and spaces, no control character, no escape sequence, at most `MAX_CHARS`."""
    bounded = cut(text)
    without_ansi = _LITERAL_ANSI.sub("", _ANSI.sub("", bounded))
    return without_ansi.translate(_TABLE)


def cut(text: str) -> str:
    """Head and tail of a text that is too long."""
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"


def unescape(text: str) -> str:
    r"""Undo the escapes of JSON inside JSON: `\\\"code\\\"` reads as `"code"`, a written `\n` as a line's end."""
    spoken = _ESCAPED_UNICODE.sub(_character, text)
    return _ESCAPED_BREAK.sub("\n", _ESCAPED_QUOTE.sub(r"\1", spoken)).translate(_TABLE)


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def without_markup(text: str) -> str:
    """XML and HTML as text: `<Code>X</Code>` becomes `Code: X`, a title a line of its own, other tags vanish."""
    if "<" not in text:
        return text
    titled = _XML_CODE.sub(_labelled, _DROPPED.sub(" ", text))
    return html.unescape(_TAG.sub(" ", titled)).translate(_TABLE)


def _labelled(match: re.Match[str]) -> str:
    label = match[1].lower()
    return f"\n{label}: {match[2].strip()}\n"
