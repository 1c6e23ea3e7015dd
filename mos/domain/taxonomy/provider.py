"""Providers that would answer later: overload, limits of rate, faults of theirs, polls without an end."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="provider.capacity",
        cause=Cause.SERVER,
        rank=Rank.CAUSE,
        phrases="""
            high demand; overloaded; at capacity; at full|max|maximum|its|our ..1 capacity; over capacity; heavy
            load|traffic|demand; high load|traffic|volume; too busy; experiencing ..3 demand|load|traffic; currently
            ..2 busy; server* ..2 busy; system ..2 busy; servers are ..2 busy; no available ..1
            capacity|gpu|gpus|instances|servers|machines|channel; no ..2 capacity available; no ..2 gpus ..1
            available; no healthy upstream|backend*; insufficient capacity; out of capacity; capacity ..3
            exceeded|unavailable|constraints|reached; no upstream; overload; peak hours; moderation ..4
            unavailable|timeout|down; lack of capacity; not enough capacity; no available channel*
        """,
        native="""
            系统繁忙; 服务繁忙; 服务器繁忙; 繁忙; 负载已饱和; 负载过高; 过载; 混み合; 混雑; 혼잡
        """,
    ),
    Rule(
        name="provider.poll_limit",
        cause=Cause.SERVER,
        rank=Rank.CAUSE,
        phrases="""
            poll* ..3 count ..3 exceed*|reached|limit; poll* ..4 exceed*|exhausted|limit|attempts|timeout|timed; max*
            ..2 poll*; exceeded ..4 poll*; still processing|running|pending|generating|queued|progress ..1 after;
            after ..3 polls|polling; not ..2 complete* ..2 after ..6 polls|checks|attempts|polling; give|giving|gave
            up ..1 poll*; still ..1 in ..1 processing|running|pending|queued; still in progress; stopped polling;
            polled ..2 times; operation ..3 not done|finish*|complete*; not ready ..2 after; status check* ..3
            exceed*|exhausted
        """,
    ),
    Rule(
        name="provider.rate_limit",
        cause=Cause.THROTTLE,
        rank=Rank.TEXT,
        phrases="""
            rate limit*; ratelimit*; too many ..2 requests|request; throttl*; too many ..3
            concurrent|parallel|simultaneous|generations|tasks|jobs; concurren* ..4 limit|exceed*|reached|maximum;
            quota ..4 exceed*|exhausted|reached; exceed* ..4 quota; out of quota; parallel task* ..6 limit; requests
            per minute|second|day|hour; tokens per minute|day; rpm limit; tpm limit; qps; resource has been exhausted;
            resource exhausted; check quota; slow down; too quickly|fast|frequent*; request limit; limit resets; limit
            ..3 reached; retry after ..2 seconds|second|s|ms; limit exceeded; exceed* ..3 rate; usage limit;
            concurrent ..4 exceeded; exceeded ..4 limit|limits; daily limit; quota limit; maximum ..3 concurrent
        """,
        unless="""
            disk quota; disc quota
        """,
        native="""
            请求过于频繁; 频率; 限流; 并发; 速率限制; 配额; レート制限; 요청이 너무 많;
            превышен лимит; 超出限额; 请求太多
        """,
    ),
    Rule(
        name="provider.fault",
        cause=Cause.SERVER,
        rank=Rank.TEXT,
        phrases="""
            internal ..2 error; internal error; service ..3 unavailable; temporarily unavailable; server error; bad
            gateway; gateway time*; gateway timeout; try again ..3 later|moment|minutes|seconds|shortly|soon; please
            retry; retry ..2 later; unexpected error; something went wrong; an error occurred ..4
            processing|server|please; currently unavailable; prediction interrupted; unexpected error handling
            prediction; upstream ..4 error|failure|fault|unavailable|failed; currently ..2 experiencing; temporary ..2
            error|failure|issue|problem; is currently loading; model ..4 loading|warming|starting|booting; cold
            start|boot; technical difficulties|issue|problem; under maintenance; maintenance mode; scheduled
            maintenance; outage; service ..2 down; backend error|failure; web server is down; origin ..6
            unreachable|error|dns|web; web server ..4 returned ..2 unknown error; unknown error ..4 server; failed to
            start ..2 prediction|container|model; error code 52*; worker ..4 crashed ..4 provider; runpod ..6 error;
            generation failed ..6 internal; try again in a; system error; temporarily ..3 disabled; contention ..4
            documents; too much contention; transaction ..3 aborted|lock timeout
        """,
        native="""
            内部错误; 内部系统; 服务不可用; 稍后再试; 稍后重试; 服务异常; 系统错误; 系统异常;
            しばらく; 内部エラー; 나중에 다시; внутренняя ошибка; попробуйте
            позже
        """,
    ),
)
