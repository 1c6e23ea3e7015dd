"""What a provider will never do: policy, money, keys, and requests it cannot accept."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="refusal.policy",
        cause=Cause.REFUSED,
        rank=Rank.CAUSE,
        phrases="""
            safety
            system|settings|filter*|policy|policies|violation*|reasons|reason|check*|guidelines|concern*|block*|guardrail*|classifier*;
            blocked ..4 safety; safety ..4 block*|reject*|refus*|flag*|violat*|fail*; sensitive
            content|words|word|information|material|topic*|data; flagged ..3
            sensitive|unsafe|inappropriate|nsfw|violat*|moderation|harmful|by; was flagged; nsfw; not safe for work;
            content ..3 policy|policies|filter*|moderat*|violat*|guideline*|restrict*; moderat* ..4
            block*|reject*|fail*|flag*|refus*|pass|violat*|denied|system; blocked ..3 moderat*|filter*|policy|content;
            rejected ..4 moderat*|safety|filter*|policy|content; inappropriate ..2
            content|material|language|image*|text|input; inappropriate; violat* ..6
            policy|policies|guideline*|terms|guardrail*|rules|standards|safety; prohibited ..3
            content|use|words|by|material; guardrail*; responsible ai; usage policies|policy|guidelines; use policy;
            acceptable use; community guidelines|standards|rules; terms of service|use; harmful ..2
            content|material|prompt|output; sexual* ..3 content|explicit|material|suggestive|minors; nudity; explicit
            content; hate speech|content; violent ..1 content; violence; self harm; child ..2 safety|abuse|sexual;
            copyright* ..4 material|content|violat*|claim|infring*|detect*|protected|character*|block*|work*; infring*
            ..4 copyright|rights|property; third party content; trademark*; public figure*; celebrit*; real ..1
            person|people|human*; likeness* ..3 of|real|person|policy; prominent people|person; unsafe
            content|prompt|input|image; content ..2 unsafe|prohibited|disallowed|blocked|flagged|refused|rejected; net
            check ..2 failed|rejected|block*|not; green net; risk control; recitation; <cannot> ..1
            help|assist|fulfill|comply ..2 with; not allowed by ..3 system|policy|safety|filter; request ..2 blocked;
            prompt ..2 blocked|rejected|refused; response ..2 blocked; blocked prompt|by our|due to; image ..3
            blocked; video ..3 blocked; output ..3 blocked|filtered; filtered ..4
            out|because|due|by|safety|responsible; no ..1 images|videos ..4 filter*; rai media|filter*; person ..3
            generation ..3 not allowed|disabled|blocked|restricted; disallowed content; against our ..4
            policy|policies|rules|guidelines|terms; face ..4 detected ..6 not allowed|policy|privacy; contains ..4
            minors|children; input ..3 moderat*; voice ..4 verification|consent; unusual activity; abuse ..2
            detected|policy|monitoring; blocklist*; blacklist* ..2 word*|term*|prompt; banned ..1 word*|term*|prompt;
            terms ..2 violat*; unable to show ..4 generated images; cannot generate ..6 because|due|policy|violat*;
            declined ..4 content|policy|prompt|generate
        """,
        unless="""
            moderation ..4 unavailable; moderation ..4 timeout; moderation ..3 timed out; moderation ..3 down; safety
            ..4 unavailable
        """,
        native="""
            敏感; 审核未通过; 审核未过; 内容审核; 違規; 违规; 不合规; 安全审核; 涉嫌; 审核不通过;
            风控; 違反; 违反; 未通过审核; 不適切; センシティブ; ポリシー; セーフティ; 부적절; 정책
            위반; 안전 정책; запрещ; нарушает; не прошл
        """,
    ),
    Rule(
        name="refusal.funds",
        cause=Cause.FUNDS,
        rank=Rank.CAUSE,
        phrases="""
            insufficient ..3 balance|credit|credits|fund*|quota|tokens|points; not enough ..3
            credit|credits|balance|fund*|points|tokens ..1 left|to|in|remaining|for|available; not|isnt|dont|doesnt
            ..1 enough ..2 credits|credit|balance|funds; balance ..3 not enough|insufficient|too
            low|exhausted|depleted|empty|negative|exceeded|zero; out of ..1 credits|credit|funds|balance|tokens;
            run|ran out of ..2 credits|credit|funds|tokens|quota; no ..2 credits|credit ..1
            left|remaining|available|balance; no credits; credits|credit|balance|prepay* ..4
            exhausted|depleted|ran|used; used ..3 all|up ..4 credits|quota; exhausted ..2 balance|credits|credit|free;
            credit balance ..3 too low|low; credit balance ..4 required; exceed* ..4 credit|credits|balance|plan; top
            up ..3 balance|account|credits|wallet|your; please top up; please recharge; recharge ..3 account|balance;
            buy|purchase|add more credits; add ..2 credits|funds; purchase ..2 credits; billing ..2
            hard|limit|disabled|inactive|suspended|issue*|problem|required; hard limit has been reached; billing ..4
            not enabled|active|disabled|set|closed; enable billing; billing account; spend* ..2 limit|cap; spending
            limit; monthly ..2 spend|budget; payment ..2 required|failed|declined|method|due|overdue|past; unpaid ..2
            invoice*|balance|bill*; past due; overdue; arrears; arrear*; account ..4
            suspended|locked|deactivated|disabled|terminated|closed|banned|restricted|delinquent|standing|frozen|overdue;
            user is locked; billed users|accounts; only ..4 paid|billed|pro|enterprise ..2
            users|plans|plan|customers|accounts|tier; subscription ..3
            expired|required|inactive|cancel*|ended|need*|past|limit|plan|not; need* ..3 paid|subscription|plan; paid
            plan|subscription; upgrade ..3 plan|subscription|account|tier; upgrade to ..3 plan|tier|pro|paid; trial
            ..3 expired|ended|over|exhausted|credits; free ..2 quota ..3 exhausted|used|exceeded|ended; exceeds ..1
            your ..1 quota; credits remaining while; good standing; requires ..3 paid|subscription|plan; plan does not
            ..4 include|allow|support|have|cover; not included in your ..3 plan; not available ..3 your|free|current
            plan|tier; exceeded ..2 current quota; check your plan and billing; usage limits ..6 regain access;
            reached ..4 usage limits; monthly ..3 quota ..2 exceed*|reached|exhausted; monthly ..2 limit ..2
            exceed*|reached; prepaid ..4 depleted|exhausted|used; budget ..3 exceed*|exhausted|limit|reached; quota
            ..3 insufficient|depleted; wallet ..4 empty|insufficient|low|balance; no active ..2
            subscription|plan|grants; resource pack* ..4 depleted|exhausted|expired|used|run; never purchased credits;
            lacks credits; character limit ..4 plan|month|quota
        """,
        unless="""
            retry in; retry delay; retrydelay; retry after; retry info; resource exhausted; free tier requests; per
            minute per; while you have; increase your rate limit; per model per; credits ..1 will reset in ..2 seconds
        """,
        native="""
            余额不足; 余额; 欠费; 充值; 额度不足; 額度不足; 额度已用; 套餐; 账户冻结; 残高不足;
            残高が不足; クレジットが不足; クレジット不足; 잔액 부족; 크레딧; недостаточно
            средств; баланс; 配额不足; 积分不足; 资源包
        """,
    ),
    Rule(
        name="refusal.funds_stated",
        cause=Cause.FUNDS,
        rank=Rank.CAUSE,
        phrases="""
            run out of ..2 credits; insufficient ..2 balance|credits|funds|quota; exhausted balance; buy more credits;
            credit balance is too low; maximum monthly spend; billing hard limit
        """,
    ),
    Rule(
        name="refusal.key",
        cause=Cause.AUTH,
        rank=Rank.TEXT,
        phrases="""
            invalid ..3 api|access|secret ..1 key|token; incorrect api key; api key ..5
            invalid|expired|revoked|missing|incorrect|not|disabled|leaked|required|wrong|blocked|denied; unauthori*;
            authentication ..3 fail*|error|required|invalid|parameter*; access key ..5 not exist|invalid; signature
            ..6 not match; access ..1 denied; permission* ..1 denied; not authorized; forbidden; is not ..3 authorized
            to perform; no permission; missing ..2 permission*; invalid ..2
            authentication|credentials|signature|security|bearer|token; not ..3 have ..2 permission*|access; lacks ..3
            permission*|access; unable to locate credentials; could not load credentials; could not load the default
            credentials; missing credentials; invalid grant; explicit deny; no identity based policy; no valid
            credential*; permission ..4 not granted|required|denied; incorrect ..2 key|credentials|password; must be
            verified; verify your organization|account|identity; does not have ..6 access|permission; dont have ..4
            access|permission; credentials ..3 invalid|incorrect|rejected|missing|not; bad credentials; insufficient
            ..2 permission*|scope*|privilege*|authentication; login required; api has not been used; api ..6 is
            disabled; caller does not have
        """,
        native="""
            无权限; 鉴权; 认证失败; 密钥; 未授权; 権限がありません; 認証; 권한이 없; доступ
            запрещ; 拒绝访问; 没有权限
        """,
    ),
    Rule(
        name="refusal.request",
        cause=Cause.BAD_REQUEST,
        rank=Rank.TEXT,
        phrases="""
            bad request; invalid ..2
            argument|parameter|parameters|params|request|prompt|value|aspect|duration|resolution|model|seed|field|size|body|payload|option|url|type|length|style|ratio;
            longer than ..3 characters|chars|tokens|seconds|maximum; too long; too many ..1
            characters|tokens|images|frames; prompt ..3 too|exceeds|longer|cannot|must|length|is; maximum ..2 length;
            maximum ..3 length|characters|tokens|size|context|duration|resolution; unsupported ..3
            parameter|value|model|region|country|location|language|resolution|aspect|duration|size|image|file|mime|media|ratio|voice;
            not supported; not ..2 support*; must be ..6 one|less|between|at|greater|a|an|of|string|number|integer; is
            required; missing ..2 required|parameter|field|argument; unknown ..1 parameter|field; unrecognized ..2
            parameter|field|request; unprocessable; field required; validation ..1 error|failed; model ..6 not
            found|exist|supported|available|deprecated|retired|access; models ..4 not found; no such model; model ..3
            deprecated|retired|decommissioned|removed|disabled; unknown model; user location; location ..3 not
            supported|available; country ..3 not supported; region ..4 not supported|available; out of range; exceeds
            ..4 maximum|limit|allowed|max; payload too large; entity too large; request too large; image ..3 too
            large|small|big; dimensions ..4 must|exceed|too|invalid|not; face ..3 not|found; no face*; no ..2
            face|faces ..2 detected|found; voice ..4 not found|exist; <cannot> process ..2 image|input|url|prompt;
            failed to download ..3 image|video|file|input|url; url ..4 not ..2 accessible|reachable|valid|publicly;
            prompt ..3 empty|blank|required; aspect ratio ..4 not|must|invalid; does not exist or you do not have
            access; finish* ..3 max tokens; context length
        """,
        native="""
            参数错误; 参数不; 参数非法; 不支持; 无效的; 過長; 过长; パラメータ;
            サポートされていません; 지원하지; неверн; недопустим; 不存在
        """,
    ),
)
