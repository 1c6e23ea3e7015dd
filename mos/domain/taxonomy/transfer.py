"""Moving bundles and assets: broken copies, expired signatures, networks, time-outs."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="transfer.expired",
        cause=Cause.EXPIRED,
        rank=Rank.CAUSE,
        phrases="""
            request|url|link|signature|signed|presigned|sas|policy has ..1 expired; token ..4 expired; expired ..2
            token; credentials ..3 expired; expired ..1 credentials; url|link|signature|signedurl|session
            expired|expires; signature not valid in the specified time frame; signed expiry time; security token ..6
            expired; session token ..3 expired|invalid; presigned ..3 expired; request time ..4 current time ..2 too
            large; request time is too skewed; expired request|signature|url|link; signature expired; refresh ..3
            credentials ..2 failed; sso session ..4 expired; policy expired; url ..3 no longer valid
        """,
        unless="""
            receipt handle; api key expired; api key has expired; subscription ..3 expired; trial ..3 expired; card
            ..3 expired; license ..3 expired; plan ..3 expired; certificate ..3 expired; resource package ..3 expired;
            renew the api key
        """,
    ),
    Rule(
        name="transfer.certificate",
        cause=Cause.NETWORK,
        rank=Rank.TEXT,
        phrases="""
            certificate verify failed; certificate ..3 expired; ssl ..4 handshake; tls ..3 handshake; ssl error; eof
            occurred in violation of protocol; wrong version number; unable to verify the first certificate; bad
            record mac; bad_record_mac; self signed certificate; could not create ssl
        """,
    ),
    Rule(
        name="transfer.broken_copy",
        cause=Cause.TRANSFER,
        rank=Rank.TEXT,
        phrases="""
            content md5 ..6 not match; checksum|sha256|md5|etag|crc|hash|digest ..6 mismatch|match|failed|differ*;
            md5|sha256|etag|crc32|crc ..4 mismatch; incomplete download|upload|transfer; content length ..4
            mismatch|match|larger|smaller; size mismatch; did not receive all ..2 data|bytes; not read from or written
            to within the timeout; upload ..3 not exist ..6 aborted; multipart upload ..4 fail*|not exist|aborted;
            network path was not found; network name ..4 no longer available|deleted; network location cannot be
            reached; unexpected network error; semaphore timeout; network name cannot be found; network ..2
            unreachable; reduce your request rate; crc error; partial file; not all bytes; transferred a partial file;
            bytes missing; expected ..4 bytes ..3 got|received|read
        """,
        unless="invalid argument",
    ),
    Rule(
        name="network.broken_stream",
        cause=Cause.NETWORK,
        rank=Rank.TEXT,
        phrases="""
            incomplete read|body|read*; premature close; response ended prematurely; connection closed before ..4
            complete|received|finished; transfer closed with ..4 bytes remaining; bytes remaining to read; truncated
            ..3 download|transfer; unexpected end of ..1 stream|body; stream ..3
            ended|closed|reset|prematurely|aborted; error aborted; error ..4 reading|writing ..3
            stream|body|response|socket; <cannot> read ..2 response stream|body; body ..3 incomplete; ended before ..3
            complete; payload is not completed; response payload
        """,
    ),
    Rule(
        name="transfer.failed",
        cause=Cause.TRANSFER,
        rank=Rank.TAIL,
        phrases="""
            download|upload|copy|copying|transfer|sync|rsync|move ..3
            failed|fail|failure|error|aborted|interrupted|stalled; failed|error|unable|failure|cannot|couldnt|cant ..3
            download|downloading|upload|uploading|copy|copying|transfer|transferring|fetch|retrieve|move; could not
            ..2 download|upload|copy|transfer|fetch|retrieve|move; robocopy ..4 failed|error; s3 ..4 failed|error;
            failed to get|put|read|write object; error ..4 while downloading|uploading|copying
        """,
    ),
    Rule(
        name="network.broken",
        cause=Cause.NETWORK,
        rank=Rank.GENERIC,
        phrases="""
            connection ..3 reset; reset by peer; connection ..2 refused; actively refused; socket hang up; hang up;
            broken pipe; forcibly closed; connection ..4
            closed|aborted|lost|dropped|terminated|broken|interrupted|down; closed connection; fetch failed; failed to
            fetch; network ..1 error|failure|issue; other side closed; peer closed connection; server disconnected;
            remote end closed; name ..3 resolution; name or service not known; no such host; <cannot> resolve;
            getaddrinfo; nodename nor servname; no route to host; host ..2 unreachable|down; <cannot> ..1
            connect|reach; <cannot> be reached; failed to establish ..3 connection; max retries exceeded; tunnel
            connection failed; proxy error; transport ..3 failure|error|closed; stream reset; rst stream|stream;
            unexpected eof; connection error; dns ..4 fail*|error; client network socket disconnected; tls connection
            was established; goaway; socket closed; socket ..4 disconnected|ended; all connection attempts failed;
            connect call failed; error reading from server; upstream connect error; disconnect reset before headers;
            error sending request; error trying to connect; empty reply from server; no connection could be made;
            cannot write to closing transport; request aborted; request was aborted; the operation was aborted;
            temporary failure in name resolution; host not found; eof reading|while reading; read eof; i o timeout
        """,
        native="""
            网络错误; 连接被重置; 连接失败; 网络异常; 接続が拒否; 接続がリセット; соединение
            разорвано
        """,
    ),
    Rule(
        name="network.timeout",
        cause=Cause.TIMEOUT,
        rank=Rank.GENERIC,
        phrases="""
            timed out; time out; timeout; deadline exceeded; took too long; no response ..3 from|received|within; read
            timeout; did not ..2 respond|complete|finish|answer; not respond* ..4 within|time; exceeded ..4 time
            limit; not ..2 finish* within; time limit exceeded; exceed* ..3 deadline; deadline ..3 elapsed; wait* ..6
            too long; gave up waiting; deadline expired; maximum ..2 wait ..1 time; exceeded ..4 maximum ..3 time
        """,
        native="""
            超时; 逾時; タイムアウト; 시간 초과; время ожидания; 请求超时
        """,
    ),
)
