"""A render that the farm was given: the table of stale active renders (§3.3 rule 2).

Time alone never replaces a render, and neither does an answer that is unknown.
A new submission rests on all of: nexrender's word twice, a healthy server that
still knows its other jobs, and no finished output of the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from mos.domain import budgets
from mos.domain.claims import OwnerState
from mos.domain.findings import FindingCode, Sighting
from mos.domain.model import Render, Task, TaskStatus
from mos.domain.policy import Policy
from mos.domain.rendering.acts import RenderAct, RenderActKind
from mos.domain.rendering.answers import FarmRecord, Known, Missing, UnknownAnswer
from mos.domain.rendering.evidence import HostLoss, Need, Output, RenderEvidence, RenderLimits, queue_of
from mos.domain.rendering.observing import observe, quiet_since, unmoved_since
from mos.domain.rendering.store import Doubtful, StoreLost, Trusted, judge_store
from mos.domain.staleness import Lost, QueueState, lost_or_late

MAX_SUBMISSIONS = 3
"""Submissions of one render (law 9)."""
POLLS_IN_DOUBT = 2
POLL_STEP = "render_poll"


def may_submit(render: Render | None) -> bool:
    """Whether one more submission is within the budget. A stored uid counts even where its list entry is lacking."""
    if render is None:
        return True
    return max(len(render.attempts), render.uid is not None) < MAX_SUBMISSIONS


def decide_submitted(
    task: Task, evidence: RenderEvidence, *, now: datetime, limits: RenderLimits, policy: Policy
) -> RenderAct:
    """What to do with a running render whose uid is stored."""
    look = _Look(task, task.render or Render(), evidence, now, limits, policy)
    submitting = look.submitting_until()
    if submitting is not None:
        return look.leave("its worker is submitting it", until=submitting)
    question = look.question()
    return look.poll(look.render) if question is None else look.ask(question)


@dataclass(frozen=True)
class _Gone:
    """Why the submission will not come to an end by itself."""

    why: str
    outcome: str
    since: datetime
    """The first of the two reads."""
    on_list: bool
    """Whether the farm's list is expected to have it."""


@dataclass(frozen=True)
class _Look:
    task: Task
    render: Render
    evidence: RenderEvidence
    now: datetime
    limits: RenderLimits
    policy: Policy

    @property
    def uid(self) -> str:
        return self.render.uid or ""

    @property
    def approved(self) -> bool:
        return self.uid in self.evidence.approved

    def submitting_until(self) -> datetime | None:
        """Until when the worker that stored the uid may still be at it."""
        lease = self.task.lease
        if lease is None or self.evidence.owners.get(lease.owner) is OwnerState.STOPPED:
            return None
        ends = lease.expires_at + self.policy.timings.lease_grace
        return ends if ends > self.now else None

    def question(self) -> str | None:
        """Why the farm has to be asked beside the polls; None while they suffice."""
        timings, render, now = self.policy.timings, self.render, self.now
        if render.submitted_at is None:
            return "nobody noted when it was submitted"
        if self.approved:
            return "a person allowed a new submission"
        if now < render.submitted_at + timings.resubmit_window:
            return None
        doubts = [since for since in (render.missing_since, render.unanswered_since) if since is not None]
        if any(now >= since + POLLS_IN_DOUBT * timings.poll_silence for since in doubts):
            return f"{POLLS_IN_DOUBT} polls brought no answer"
        unchanged = render.last_change_at or render.submitted_at
        loss = self.evidence.hosts.get(render.executor or "")
        if loss is not None and loss.at > unchanged:
            return f"its host was {loss.what}"
        return "nothing has changed" if now >= unchanged + timings.render_unchanged else None

    def ask(self, question: str) -> RenderAct:
        answer = self.evidence.answers.get(self.uid)
        if answer is None:
            return self._look_for(Need.ANSWER, question)
        after = observe(self.render, answer, now=self.now)
        match answer:
            case UnknownAnswer(reason):
                return self.leave(f"the farm's answer is unknown: {reason}", render=after)
            case Known(record) if record.uid != self.uid:
                return self.leave("the farm answered for another uid")
            case Known(record):
                return self._known(record, after)
            case Missing():
                since = after.missing_since or self.now
                return self._gone(_Gone("the farm has no such job", "missing", since, on_list=False), after)

    def poll(self, render: Render, sighting: Sighting | None = None) -> RenderAct:
        """Keep the polls going: they handle every answer that is one."""
        silence = self.policy.timings.poll_silence
        last = self.render.last_polled_at or self.render.submitted_at or self.now
        if last + silence > self.now:
            return self.leave("it is being polled", render=render, sighting=sighting)
        queue = queue_of(self.policy, POLL_STEP)
        if queue not in self.evidence.queues:
            return self._look_for(Need.QUEUE, "no poll for a while")
        if _backlogged(self.evidence.queues[queue], last, silence):
            return self.leave("late: its poll waits in the queue", render=render, sighting=sighting, late=True)
        return self._act(RenderActKind.REPOLL, "no poll for a while", render=self._silent(render), sighting=sighting)

    def _silent(self, render: Render) -> Render:
        """Two re-polls without an answer are counted from the first one, unless this look brought the answer."""
        answered = render.last_answer_at == self.now
        return render.model_copy(update={"unanswered_since": None if answered else render.unanswered_since or self.now})

    def _known(self, record: FarmRecord, after: Render) -> RenderAct:
        loss = self.evidence.hosts.get(record.executor or "") if record.active else None
        skew = self.limits.clock_skew
        # Before "stuck": such a record stays unchanged for ever, and restarting its host once more mends nothing.
        if loss is not None and unmoved_since(self.render, record, loss.at, skew=skew):
            return self._gone(_host_gone(record, loss), after)
        quiet = self.now - quiet_since(self.render, record, now=self.now, skew=skew)
        stuck = record.active and quiet >= self.policy.timings.render_unchanged
        return self.poll(after, _stuck(self.task, record, quiet) if stuck else None)

    def _gone(self, gone: _Gone, after: Render) -> RenderAct:
        """As missing: the finished output first, then the farm as a whole, then the second read."""
        found = self.evidence.outputs.get(self.uid)
        if found is None:
            return self._look_for(Need.OUTPUT, gone.why)
        if found.state is Output.SOUND:
            return self._act(
                RenderActKind.ADOPT, f"{gone.why}, but its output is there", render=after, output_key=found.key
            )
        if found.state is Output.UNKNOWN:
            return self.leave(f"{gone.why}; its output could not be looked for", render=after)
        return self._replace(gone, after) if self.approved else self._not_produced(gone, after)

    def _not_produced(self, gone: _Gone, after: Render) -> RenderAct:
        if self.evidence.store is None:
            return self._look_for(Need.STORE, gone.why)
        match judge_store(self.evidence.store, self.limits):
            case Doubtful(reason):
                return self.leave(f"{gone.why}, but {reason}", render=after)
            case StoreLost(sighting):
                return self.leave(f"{gone.why}, and so are many: a person decides", render=after, sighting=sighting)
            case Trusted(uids) if self.uid in uids and not gone.on_list:
                return self.leave(f"{gone.why}, but its list has it", render=after)
            case Trusted():
                return self._second_read(gone, after)

    def _second_read(self, gone: _Gone, after: Render) -> RenderAct:
        due = gone.since + self.limits.corroborate_after
        if due > self.now:
            return self._act(RenderActKind.SUSPECT, f"{gone.why}: read again", render=after, until=due)
        return self._replace(gone, after)

    def _replace(self, gone: _Gone, after: Render) -> RenderAct:
        if not may_submit(self.render):
            reason = f"{gone.why} after the last permitted submission"
            return self._act(RenderActKind.STRAND, reason, render=after, outcome=gone.outcome)
        if not budgets.may_execute(self.task):
            reason = f"{gone.why} after the last permitted execution"
            return self._act(RenderActKind.STRAND, reason, render=after, outcome=gone.outcome, ends_as=TaskStatus.DEAD)
        return self._act(RenderActKind.SUBMIT, gone.why, render=after, outcome=gone.outcome)

    def leave(
        self,
        reason: str,
        *,
        render: Render | None = None,
        until: datetime | None = None,
        sighting: Sighting | None = None,
        late: bool = False,
    ) -> RenderAct:
        return self._act(RenderActKind.LEAVE, reason, render=render, until=until, sighting=sighting, late=late)

    def _look_for(self, need: Need, reason: str) -> RenderAct:
        return RenderAct(kind=RenderActKind.LOOK, task=self.task, reason=reason, needs=need)

    def _act(
        self,
        kind: RenderActKind,
        reason: str,
        *,
        render: Render | None = None,
        until: datetime | None = None,
        outcome: str | None = None,
        output_key: str | None = None,
        ends_as: TaskStatus = TaskStatus.FAILED,
        sighting: Sighting | None = None,
        late: bool = False,
    ) -> RenderAct:
        latest = self.now + self.limits.look_every
        return RenderAct(
            kind=kind,
            task=self.task,
            reason=reason,
            until=min(until or latest, latest),
            render=render,
            outcome=outcome,
            output_key=output_key,
            ends_as=ends_as,
            late=late,
            sighting=sighting,
        )


def _backlogged(queue: QueueState | None, since: datetime, silence: timedelta) -> bool:
    """Polls are due and nobody takes them: a fresh one would only supersede the one that waits (law 7).

    Delayed messages say nothing: every render has one. A queue that cannot be read keeps nobody from asking.
    """
    if queue is None or not all(visible for visible, _ in queue.readings):
        return False
    return not isinstance(lost_or_late(queue, since=since, pickup_ttl=silence), Lost)


def _host_gone(record: FarmRecord, loss: HostLoss) -> _Gone:
    why = f"its host {record.executor} was {loss.what} since its last change"
    return _Gone(why, f"host {loss.what}", loss.at, on_list=True)


def _stuck(task: Task, record: FarmRecord, quiet: timedelta) -> Sighting:
    evidence = {
        "uid": record.uid,
        "executor": record.executor,
        "state": record.state,
        "unchangedSeconds": round(quiet.total_seconds()),
    }
    return Sighting(FindingCode.RENDER_STUCK, f"tasks/{task.id}", evidence)
