"""Hide what only looks like evidence: URLs, paths, stack frames, ids and times.

Digits and words in a file's name say nothing about the failure. What kind of
thing was named does: a mask keeps that as a word a rule can read
(`maskedaep` for an After Effects project, `maskedstorage` for object storage).
"""

from __future__ import annotations

import re

URL = "maskedurl"
STORAGE = "maskedstorage"
PROVIDER = "maskedprovider"
PROJECT = "maskedaep"
MEDIA = "maskedmedia"
PATH = "maskedpath"
_ID = "maskedid"
_TIME = "maskedtime"

_STORAGE_HOST = re.compile(
    r"(?:^|[./@-])s3[.-]|amazonaws\.com|storage\.googleapis|blob\.core\.windows|r2\.cloudflarestorage|digitaloceanspaces"
    r"|backblazeb2|cloudfront\.net|^s3:|^gs:|firebasestorage|wasabisys",
    re.IGNORECASE,
)
_PROVIDER_HOST = re.compile(
    r"//(?:[\w-]{1,40}\.){0,4}(?:openai\.com|openai\.azure\.com|anthropic\.com|generativelanguage\.googleapis\.com|aiplatform\.googleapis"
    r"\.com|runwayml\.com|klingai\.com|lumalabs\.ai|replicate\.com|fal\.(?:run|ai)|stability\.ai|elevenlabs\.io|minimax\w{0,8}\.\w{2,4}"
    r"|x\.ai|mistral\.ai|openrouter\.ai|aliyuncs\.com|volces\.com|bfl\.(?:ai|ml)|ideogram\.ai|heygen\.com|hedra\.com|together\.xyz"
    r"|googleapis\.com/v1(?:beta)?/models)|//api\.",
    re.IGNORECASE,
)
_PROJECT_NAME = re.compile(r"\.aepx?(?![a-z0-9])|\.aet(?![a-z0-9])", re.IGNORECASE)
_MEDIA_NAME = re.compile(
    r"\.(?:mp4|mov|m4v|mkv|webm|avi|mxf|m3u8|ts|png|jpe?g|webp|gif|tiff?|heic|psd|exr|wav|mp3|aac|m4a|flac|ogg|ttf|otf)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)

_URL = re.compile(
    r"\b(?:https?|s3|gs|ftp|sftp|wss?|mongodb(?:\+srv)?|rediss?|amqps?|file|grpc)://"
    r"(?:[^\s\"'`<(){}|^]|<(?!/)){1,2000}+",
    re.IGNORECASE,
)
_WINDOWS = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]:\\|\\\\)(?:[^\\/:*?\"<>|\n]{1,200}\\{1,8}){0,60}[^\\/:*?\"'<>|\s]{0,200}"
)
_POSIX = re.compile(r"(?<![\w./\\:~-])(?:~|\.{1,2})?(?:/[\w.@+~%=,$#-]{1,255}+){2,60}+/?+")
_RELATIVE = re.compile(r"(?<![\w./\\-])[\w.@+-]{1,255}+(?:[/\\][\w.@+\[\]-]{1,255}+){1,60}+(?=[\s\"'),:;]|$)")
_FILE = re.compile(r"(?<![\w.-])[\w@+-][\w.@+-]{0,254}+(?<=[A-Za-z0-9])(?=[\s\"'),:;]|$)")
_NAMED = re.compile(r"^.{1,200}\.[A-Za-z0-9]{2,5}$")

_FRAME_LINE = re.compile(
    r"^[ ]{0,40}(?:at [^\s0-9][^\n]{0,300}?(?:\(|:[0-9])[^\n]{0,300}"
    r"|File \"[^\n]{1,600}|\.\.\. [0-9]{1,4} more[^\n]{0,80}"
    r"|#[0-9]{1,3} (?:/|0x|\{main|\[internal|[A-Za-z]:\\)[^\n]{0,600}"
    r"|from [^\s:]{1,300}:[0-9]{1,6}:in [^\n]{1,300}|\^{1,200}~{0,200}|~{1,200}\^{0,200}~{0,200})$",
    re.MULTILINE,
)
_QUOTED_SOURCE = re.compile(r"(^[ ]{0,40}File \"[^\n]{1,600}\n)[ ]{2,40}[^\n]{1,600}", re.MULTILINE)
_INLINE_FRAME = re.compile(r" at (?:async |new |Object\.)?[\w$.<>\[\] ]{1,80}\((?:[^()\s]{1,400}|native)\)")
_POSITION = re.compile(r":[0-9]{1,7}(?::[0-9]{1,7})?(?=[\s)\]\"',]|$)")

_IDS = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\barn:aws[\w-]{0,20}:[^\s\"',)]{1,300}+"
    r"|\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}"
    r"|\b(?=[0-9a-f]{0,64}[0-9])(?=[0-9]{0,64}[a-f])[0-9a-f]{8,128}+\b"
    r"|(?<![\w])[0-9]{7,40}[A-Za-z0-9]{0,60}"
    r"|\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{1,5})?\b",
    re.IGNORECASE,
)
_ID_FIELD = re.compile(
    r"((?:request|trace|correlation|task|job|message|host|session|run|attempt|log|ray|event)[ _-]?id|cf-ray|ray id)"
    r"([\"']?[ ]{0,2}[:=]?[ ]{0,2}[\"']?)([\w.=+/-]{2,200})",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}(?:[T ][0-9:.,]{4,20}(?:Z|[+-][0-9:]{4,6})?)?"
    r"|\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?\b"
)
_QUOTED_NAME = re.compile(
    r"\b(reading|setting|property|attribute|named|module|KeyError:|column|variable|import|called)"
    r" {0,2}['\"`][^'\"`\n]{1,120}['\"`]"
)
_JUDGEMENT = re.compile(
    r"\b(?:infrastructure|template_transfer|provider_timeout|stranded_pipeline|template_unavailable|provider_rejection"
    r"|media_or_template)\b(?=[\s\"',.;:)}\]]|$)",
)
_ECHO = re.compile(r"([\"'](?:prompt|negative_prompt|text_prompt|caption)[\"'][ ]{0,2}:[ ]{0,2})\"[^\"\n]{0,4000}\"")


def masked(text: str) -> str:
    """The text with everything hidden that is no evidence. Linear: every pattern is bounded."""
    text = _ECHO.sub(r"\1 maskedprompt", _JUDGEMENT.sub("maskedclass", text))
    text = _URL.sub(_url, text)
    text = _frames(text)
    text = _WINDOWS.sub(_path, text)
    text = _POSIX.sub(_path, text)
    text = _RELATIVE.sub(_relative, text)
    text = _FILE.sub(_file, text)
    return _small(text)


def _frames(text: str) -> str:
    text = _QUOTED_SOURCE.sub(r"\1", text)
    return _INLINE_FRAME.sub(" ", _FRAME_LINE.sub("", text))


def _small(text: str) -> str:
    text = _ID_FIELD.sub(rf"\1\2{_ID}", text)
    text = _TIMES.sub(_TIME, text)
    text = _IDS.sub(_ID, text)
    text = _QUOTED_NAME.sub(r"\1 maskedname", text)
    return _POSITION.sub(_position, text)


def _position(match: re.Match[str]) -> str:
    """A column after a line is a position; a lone number may be a status ("failed:503") and stays."""
    return " " if match[0].count(":") > 1 else match[0]


def _url(match: re.Match[str]) -> str:
    found = match[0]
    ending = " " if found[-1] not in ",;:." else f" {found[-1]} "
    if _PROJECT_NAME.search(found):
        return PROJECT + ending
    if _STORAGE_HOST.search(found[:300]):
        return STORAGE + ending
    return (PROVIDER if _PROVIDER_HOST.search(found[:300]) else URL) + ending


def _path(match: re.Match[str]) -> str:
    return _kind(match[0]) + (" ." if match[0].endswith(".") else "")


def _relative(match: re.Match[str]) -> str:
    """Two words with a slash are prose ("and/or", a media type) unless they end like a file's name."""
    found = match[0]
    is_path = found.count("/") + found.count("\\") > 1 or "\\" in found or _NAMED.match(found)
    return _kind(found) if is_path else found


def _file(match: re.Match[str]) -> str:
    found = match[0]
    return _kind(found) if _PROJECT_NAME.search(found) or _MEDIA_NAME.search(found) else found


def _kind(path: str) -> str:
    if _PROJECT_NAME.search(path):
        return PROJECT
    return MEDIA if _MEDIA_NAME.search(path) else PATH
