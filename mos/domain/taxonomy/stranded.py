"""Work that nobody did: never claimed, its worker gone, its lease lost, its attempts used up."""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank
from mos.domain.taxonomy.context import Place
from mos.domain.taxonomy.rule import Rule

RULES = (
    Rule(
        name="stranded.never_claimed",
        cause=Cause.STRANDED,
        rank=Rank.CAUSE,
        phrases="""
            <work> ..4 never|not ..3
            claimed|acquired|picked|started|assigned|transitioned|consumed|dequeued|leased|accepted|scheduled;
            never|not ..2 claimed|acquired|picked|leased|dequeued ..3 by|up; no ..3 <worker> ..4
            available|picked|claimed|found|online|connected|registered|listening|responded|matching|accepted|idle|running;
            waiting for ..4 <worker> ..4; waiting ..4 <worker> to; <worker> ..3 never|not ..2
            claimed|picked|started|acknowledged; stuck ..3
            queue|queued|pending|waiting|scheduled|processing|running|claimed|state; schedule to start; schedule to
            close; never transitioned; never ..2 left|leave ..3 queue|queued|pending; still ..1 queued|pending|waiting
            ..2 after; no pollers; no workers; never reported; never reached ..3 running|processing|worker; remained
            ..4 queued|pending|waiting; expired ..4 in ..2 queue; queue ..3 timeout|wait ..4 exceeded|expired; queued
            for ..6 without; waiting for a runner; time* out waiting ..4 worker|runner|agent|slot|executor|queue;
            pickup ttl|timeout|deadline; not been ..2 picked|claimed|started; unable to place a task; was not found in
            the task queue; message ..2 expired ..4 before; left ..4 queued|pending; sat ..4 queue
        """,
        unless="""
            no workers left after out of memory
        """,
    ),
    Rule(
        name="stranded.worker_lost",
        cause=Cause.STRANDED,
        rank=Rank.CAUSE,
        phrases="""
            <worker> ..4 lost|disappeared|vanished|died|gone|offline|unresponsive|disconnected|dead|crashed; lost ..3
            <worker>; lost ..3 communication|contact|connection ..3 <worker>; stopped hearing from; no response from
            ..2 <worker>; heartbeat ..4
            lost|missed|missing|timeout|timed|expired|stopped|exceeded|failed|overdue|late|stale; missed ..3
            heartbeat*; no heartbeat*; without ..3 heartbeat*; has not ..3 heartbeat*; zombie; orphan* ..3 <work>;
            <work> ..2 orphan*|abandoned|stranded|zombie|stalled; abandoned; stranded; stalled more than allowable;
            <work> ..2 stalled; not ..3 heard from; <worker> ..4 exited prematurely; <worker> ..4 shut* ..3
            before|while|during; <worker> ..4 stopped ..3 responding|before|while|during|unexpectedly|running;
            <worker> ..3 terminated|evicted|restarted|killed|stopped ..4 before|while|during; externally ..4
            killed|terminated; missing ..2 lock for job; lock ..3 lost|expired|mismatch; could not renew lock; <work>
            ..3 not in ..2 active state; detected as zombie; did not heartbeat; <work> ..4 terminated abruptly;
            essential container in task exited; worker restart*; no longer owned|held|leased by; server side timeout
            no response; rescued ..3 stuck; lost track of; <worker> ..6 stopped sending; <worker> ..3 went away|down
        """,
    ),
    Rule(
        name="stranded.lease_lost",
        cause=Cause.STRANDED,
        rank=Rank.CAUSE,
        phrases="""
            receipt handle ..4 expired|invalid|is; visibility timeout ..4 expired|exceeded|elapsed|change|lapsed; not
            available for visibility timeout change; lease ..3 lost|expired|lapsed|stolen|taken|ran|not; lost ..2
            lease; message ..6 no longer ..3 available|visible|inflight|flight; message not inflight; delivery
            acknowledgement ..3 timed out; ack* deadline ..3 exceeded|expired|passed; unknown delivery tag; lock ..4
            expired ..4 message; message lock|lease ..2 lost|expired; lock supplied is invalid; consumer timeout;
            commit cannot be completed ..6 rebalanced; already rebalanced; ack* timeout; fenc* ..3 token ..4
            stale|lost|superseded
        """,
    ),
    Rule(
        name="stranded.attempts_used",
        cause=Cause.STRANDED,
        rank=Rank.CAUSE,
        phrases="""
            attempted too many times; too many times or run too long; max* ..3
            receive|delivery|deliver|receives|deliveries ..3 count|attempts|exceeded|reached; max* ..2 attempts ..3
            exceeded|reached ..4 queue|job|message|dead; reap* ..2 limit|count|cap; reaped ..4 times; reap limit;
            moved to ..4 dead; dead letter*; receive count ..4 exceed*; redeliver* ..4 limit|exceeded|times|maximum;
            exceeded ..4 reaps|reap|redeliveries|deliveries|receives; delivery limit|count ..2 exceed*|reached;
            requeue* ..4 limit|times|exceeded|too; job exceeded ..3 attempts; <work> ..2 has been attempted; max
            requeues exceeded; attempts ..2 exhausted ..4 queue; re enqueued ..3 times
        """,
    ),
    Rule(
        name="stranded.timeout_in_queue",
        cause=Cause.STRANDED,
        rank=Rank.TEXT,
        places=frozenset({Place.QUEUE, Place.ELSEWHERE}),
        phrases="""
            heartbeat timeout; start to close; visibility timeout; task ..3 hard time limit; activity task timed out;
            workflow ..2 timed out; exceeded its ttl|lease|deadline; ran more than ..4 time to live
        """,
    ),
)
