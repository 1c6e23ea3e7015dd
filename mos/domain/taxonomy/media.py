"""Media or template that cannot be worked with: After Effects, ffmpeg, image libraries."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="media.after_effects",
        cause=Cause.MEDIA,
        rank=Rank.TEXT,
        phrases="""
            after effects error|warning; ae error; aerender error; could not read ..2 source; no comp* ..2 was|were
            found; no comp* ..4 given name; comp|composition ..4 not found|exist; unable to execute script; error
            executing script; runtime error in after effects; <cannot> find ..2 any|layer*|composition*|comp|property;
            layer* ..4 not found|missing|exist; missing ..2 font*|footage|effect*|plugin*|plug|layer*|composition;
            font* ..4 not|missing|unavailable|substitut*; file* ..2 missing since ..2 last saved; expression* ..3
            error*|disabled|failed|errors; expression|expressions errors; footage ..4
            missing|offline|not|error|corrupt*|import; error swapping footage; effect* ..3 missing|not|unavailable;
            plug in|ins ..6 missing|not|could; output module ..6 not|fail*|error|template; no output module; exceed*
            internal limits; buffer larger than; larger than ..3 pixels; modal dialog; unable to render; newer version
            of after effects; created ..4 newer version; file format module could not; could not parse the file;
            property ..6 hidden|null|not; object is invalid; null is not an object; is not a function; can not set
            value; set value with this property; cycle ..3 dependency|detected; recursive ..2 comp*; codec ..4 not ..2
            available|installed|found|supported|support; rendering error while writing; error in ..3 output module;
            file ..4 damaged; error ..2 expression; evaluating expression; invalid ..3 output
            module|layer|composition|comp; not a valid ..4 project|aep|after; project ..4 damaged|corrupt*;
            unsupported ..3 project|effect*; script ..3 failed ..2 line|error; the following source files are
            missing|used
        """,
    ),
    Rule(
        name="media.unreadable",
        cause=Cause.MEDIA,
        rank=Rank.TEXT,
        phrases="""
            invalid data found; unsupported ..2 image|codec|pixel|video|audio|media|container|compression ..2
            format|type|codec|profile|file; unsupported codec|format|pixel|container|sample; moov atom not found;
            <cannot> find ..2 codec|stream|tag; matches no streams; does not contain any stream; no ..2 audio|video
            ..1 stream|streams|track|tracks; unspecified pixel format|size; cannot identify image file; image file is
            truncated; truncated file|image|jpeg|png; premature end of ..2 jpeg|input|file|image|jpeg; corrupt* ..3
            file|image|video|media|audio|jpeg|png|frame|data|input|header|bitstream|stream;
            file|image|video|media|audio|jpeg|png|frame|input|footage ..4 corrupt*|damaged|unreadable|broken; not a
            valid ..2 image|video|jpeg|png|mp4|media|audio|wav|gif|file; invalid ..2
            image|video|audio|jpeg|png|media|wav|mp3|mp4|picture ..1
            file|data|format|header|dimensions|size|input|stream; error while decoding; decod* ..4 fail*|error*; fail*
            ..2 decode|decoding; <cannot> ..1 decode|probe|demux; unknown ..1 decoder|encoder|codec|format; decoder
            ..3 not found; encoder ..3 not found; conversion failed; error ..3 opening ..2 input|output; error opening
            input; ffmpeg exited with|code; ffmpeg ..3 failed|error|exited; ffprobe ..3 failed|error|exited;
            width|height ..4 not divisible; not divisible by 2; invalid ..2
            dimensions|nal|frame|header|marker|huffman|sample; nal unit; zero ..1
            duration|length|byte|width|height|size|frames; zero byte* ..2 file|image|video; empty ..2
            file|image|video|input; no decodable ..1 frame*; no frames; all ..1 frames ..2 black; black frame*;
            unrecognized ..2 format|file; file ..3 not ..2 recogni*; image ..4 exceeds ..4 pixel limit; exceeds pixel
            limit; decompression bomb; exceeds limit of ..2 pixels; broken data stream; bad image; heif ..3
            error|fail*|not|support*; vips*; unable to read ..2 image|video|frame|audio|file|media; unsupported ..2
            mime|media|file ..1 type|format; format ..2 not ..2 recogni*|supported|support*; image format;
            buffer|file|input|image|video|audio ..2 is empty; buffer contains unsupported; bitstream ..3
            not|error|filter; error splitting; channel layout; could not write header; error initializing ..2
            output|filter*|complex; error reinitializing filters; invalid frame size; frame ..2 dimensions; timebase;
            non monoton*; sample rate ..3 not|unsupported|invalid; av error|averror; not a jpeg; not a png; bad magic;
            unsupported marker; unreadable; no such filter; filter ..3 has ..2 unconnected
        """,
        unless="""
            context window
        """,
        native="""
            图片格式; 视频格式; 不支持的格式; 文件损坏; 图片解析失败; 無効なデータ; 画像形式;
            повреж
        """,
    ),
    Rule(
        name="media.no_result",
        cause=Cause.MEDIA,
        rank=Rank.TAIL,
        phrases="""
            <cannot> find ..2 result file; no ..1 output|result file; result file ..4 not|missing; output file ..4
            empty|missing|not; aerender ..4 exit*|exited|failed|code
        """,
    ),
)
