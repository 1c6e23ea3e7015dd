"""The bundle itself is not there: no project inside, template missing or unpublished, object gone."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="template.missing",
        cause=Cause.TEMPLATE_MISSING,
        rank=Rank.CAUSE,
        phrases="""
            template|templates|bundle ..4
            missing|unpublished|deleted|archived|unavailable|removed|retired|disabled|inactive|draft|withdrawn|gone|deprecated;
            template|templates|bundle|aep|maskedaep ..6 not found|exist|published|available|exists|located|present;
            template|bundle ..3 <not> ..1 exist|contain|include|have|hold;
            missing|unpublished|deleted|archived|unavailable|removed|retired|disabled|inactive|draft|withdrawn|gone|deprecated
            template|bundle|aep|project; no ..2 template|templates|aep|aepx|maskedaep|project ..1
            file|files|found|in|exists|inside|present|with|for|named; no ..3 aep|aepx|maskedaep; <cannot> ..1
            find|locate|resolve|open|load ..4 template|bundle|aep|maskedaep|aepx; no such template|bundle; project
            file ..6 not exist|found|exists; project file ..4 missing; aep|aepx|maskedaep ..4 missing|not; missing ..3
            aep|aepx|maskedaep; not ..2 contain* ..4 aep|aepx|template|maskedaep|project; without ..3
            aep|aepx|maskedaep; unpublished; template ..3 not ..2 published|active|live|approved|ready|released;
            template ..6 has no ..3 version*|bundle|project|aep|file|published; no published ..2
            version|template|revision; unknown template; invalid template id; template version ..4
            not|missing|removed; template ..2 id ..6 not found|exist; unable to download ..2 maskedaep; failed to
            download ..2 maskedaep; no such file or directory ..4 maskedaep; file not found ..3 maskedaep; maskedaep
            ..4 no such file; expected ..4 aep|aepx ..4 found|none|got; zero|0 ..1 project|aep|aepx|template ..1
            file|files|found; 0 aep; empty ..1 bundle|template|archive; bundle|archive ..2 is ..1 empty; template ..4
            404
        """,
        unless="""
            output module template; output template; render settings template; rendersettings template; omtemplate;
            rstemplate; no comp was found; template engine; email template; prompt template; chat template; jinja;
            template literal; template_not_found_error
        """,
    ),
    Rule(
        name="template.archive",
        cause=Cause.BAD_ARCHIVE,
        rank=Rank.CAUSE,
        phrases="""
            end of central directory; central directory; bad zip file; badzipfile; not a zip;
            invalid|corrupt*|damaged|broken|truncated|bad ..2 zip|archive|rar|tar|7z;
            zip|archive|rar|tar|bundle|template|package ..4 corrupt*|damaged|broken|invalid|truncated|encrypted; <not>
            support* ..4 archive|archives|rar|zip; <cannot> ..2 extract|unzip|unpack|decompress|unrar ..4; unsupported
            ..3 archive|compression; archive format; archive|archives|rar|zip ..2 <not> ..1 support*; unexpected end
            of ..2 archive|zip|data|file ..3 archive|zip; unexpected end of archive|zip; password protected ..2
            archive|zip; invalid local header; invalid stored block; incorrect header check; zlib ..3 error;
            compressed file ended before; extract* ..3 failed|error; unpack* ..3 failed|error; decompress* ..3
            failed|error
        """,
        unless="""
            decompression bomb
        """,
    ),
    Rule(
        name="template.object_missing",
        cause=Cause.OBJECT_MISSING,
        rank=Rank.CAUSE,
        phrases="""
            specified key does not exist; no such object; no such key|bucket|blob; specified
            blob|container|bucket|resource|object|version does not exist; object ..4 not exist|found; blob ..3 not
            exist|found; bucket ..3 not exist|found; key ..3 does not exist; object ..3 archived; not valid for the
            object s storage class; does not exist ..3 storage object not found
        """,
        unless="""
            access key
        """,
    ),
    Rule(
        name="template.file_missing",
        cause=Cause.OBJECT_MISSING,
        rank=Rank.TEXT,
        phrases="""
            404 not found; 404; not found 404; file ..2 not found; enoent; no such file or directory; cannot find the
            file|path; could not find file|part; file does not exist; system cannot find the
        """,
        unless="""
            spawn ..2 enoent; enoent ..2 spawn
        """,
        native="""
            找不到; 文件不存在; ファイルが見つかりません; не найден; 찾을 수 없
        """,
    ),
)
