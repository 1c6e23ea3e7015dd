"""One small job under any sequence of what can happen to it: the invariants and law 1 hold at every step.

The real gateway, the stock client and the embedded engine; the decisions of the domain and the reaper's own acts.
Workers are handles that may go on after they were replaced (zombies), messages may be doubled, lost and reordered,
and a mission may carry out a plan that it made long ago.
"""

from __future__ import annotations

import random
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mos.domain.changes import Commit, JobChange, TaskChange
from mos.domain.claims import Claimant, Claimed, Drop, OwnerState, Spent, decide_claim
from mos.domain.completion import decide_completion, fence
from mos.domain.dispatching import decide_cancellation, decide_start
from mos.domain.ending import decide_end
from mos.domain.errors import ConflictError, FailureClass
from mos.domain.failing import Failure, RetryLater, decide_failure
from mos.domain.invariants import Evidence, check, everything_has_a_driver
from mos.domain.jobs import JobRequest, decide_creation
from mos.domain.messages import TaskMessage
from mos.domain.model import OPEN_TASKS, Job, JobStatus, Task, TaskStatus
from mos.domain.pipeline import KindSpec
from mos.domain.policy import Policy
from mos.domain.reaping import ReapAct, ReaperLimits, ReaperObservations, ReapKind, decide_reaping
from mos.domain.recovery_log import LogEntry
from mos.domain.releasing import decide_release
from mos.domain.staleness import QueueState
from mos.domain.transitions import By
from mos.local.firestore.inprocess import Engine, connect
from mos.local.firestore.virtual import virtual_time
from mos.local.simulation.runtime import VirtualRuntime
from mos.missions.cancel_job import cancel_job
from mos.missions.reaper_acts import ReaperActs
from mos.store.documents import read
from mos.store.gateway import Gateway, Reader
from mos.store.outbox import mark_sent
from mos.store.queries import open_of_job, queued_of_job, tasks_of_job
from tests.builders import shipped

KIND = KindSpec(chain=("image_edit", "upscale"), finish=("shot_reorder",))
POLICY = Policy(pipeline=shipped().model_copy(update={"kinds": {"small": KIND}}))
CLASSES = list(FailureClass)


@dataclass
class Message:
    """A copy of a message in a queue."""

    task: TaskMessage
    receives: int = 0


@dataclass(frozen=True)
class Holder:
    """A worker that believes it runs a task."""

    task_id: str
    attempt: int
    token: str
    owner: str
    receives: int


class SmallJob(RuleBasedStateMachine):
    """Two shots of two steps that converge on a third."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.runtime = VirtualRuntime(3)
        self.stack.enter_context(virtual_time(self.runtime.sleep, self.runtime.monotonic))
        self.engine = Engine(clock=self.runtime.server_time, lock_timeout=0)
        self.dirty = True
        self.client = connect(self.engine, "demo", hook=self._hook)
        self.gateway = Gateway(self.client, POLICY, self.runtime, actor="machine")
        self.acts = ReaperActs(client=self.client, gateway=self.gateway, sender=cast("Any", None))
        self.messages: list[Message] = []
        self.holders: list[Holder] = []
        self.stopped: set[str] = set()
        self.plans: list[ReapAct] = []
        self.seen: dict[str, Task] = {}
        self.seen_job: Job | None = None

    def teardown(self) -> None:
        with self.stack:
            if self.seen_job is not None:
                assert check(self.evidence()) == []

    @initialize()
    def create(self) -> None:
        request = JobRequest(job_id="j", kind="small", shots={"a": {}, "b": {}}, correlation_id="c")

        def body(reader: Reader) -> tuple[Commit, None]:
            reader.raw("config/production")
            return decide_creation(request, now=reader.now, policy=POLICY), None

        self.gateway.transact(body)
        self._start()
        self._look()

    # what is stored

    def _hook(self, name: str, request: Any, do: Any, timeout: float | None) -> Any:
        self.dirty |= name == "Commit"
        return do()

    def tasks(self) -> dict[str, Task]:
        self._look()
        return self.seen

    def job(self) -> Job:
        self._look()
        assert self.seen_job is not None
        return self.seen_job

    def evidence(self) -> Evidence:
        entries = [
            LogEntry.model_validate({**(one.to_dict() or {}), "id": one.id, "committedAt": one.create_time})
            for one in self.client.collection("recoveryLog").stream()
        ]
        job = self.job()
        return Evidence(policy=POLICY, entries=entries, tasks=self.tasks(), jobs={job.id: job}, max_concurrent_jobs=1)

    def _look(self) -> None:
        """Read again what may have changed."""
        if self.dirty:
            found = [read(Task, snapshot) for snapshot in self.client.collection("tasks").stream()]
            self.seen = {one.id: one for one in found if one is not None}
            self.seen_job = read(Job, self.client.document("jobs/j").get())
            self.dirty = False

    def _is(self, *statuses: JobStatus) -> bool:
        return self.seen_job is not None and self.seen_job.status in statuses

    def enabled(self, name: str) -> bool:
        """Whether a rule has something to work on: for walks, which know no preconditions."""
        match name:
            case "receive" | "disturb":
                return bool(self.messages)
            case "complete" | "fail" | "drain" | "announce_a_stop" | "renew":
                return bool(self.holders)
            case "act":
                return bool(self.plans)
            case "retry":
                return self._is(JobStatus.FAILED)
            case "cancel":
                return self._is(JobStatus.PROCESSING, JobStatus.PENDING)
            case _:
                return True

    def _some(self, *statuses: TaskStatus) -> bool:
        return any(task.status in statuses for task in self.seen.values())

    # dispatch, operator

    @precondition(
        lambda self: self._is(JobStatus.PENDING) or (self._is(JobStatus.CANCELLED) and self._some(*OPEN_TASKS))
    )
    @rule()
    def dispatch(self) -> None:
        self._start()

    def _start(self) -> None:
        def body(reader: Reader) -> tuple[Commit | None, None]:
            job = reader.job("j")
            assert job is not None
            if job.status is JobStatus.PENDING:
                return decide_start(job, reader.query(tasks_of_job("j"), Task), now=reader.now), None
            if job.status is JobStatus.CANCELLED:
                return decide_cancellation(job, reader.query(tasks_of_job("j"), Task)), None
            return None, None

        self.gateway.transact(body)

    @precondition(lambda self: self._is(JobStatus.PROCESSING, JobStatus.PENDING))
    @rule(really=st.integers(0, 40))
    def cancel(self, really: int) -> None:
        if really == 37:  # rare: it ends everything
            cancel_job(self.gateway, "j", why="by hand")

    @precondition(lambda self: self._is(JobStatus.FAILED))
    @rule()
    def retry(self) -> None:
        """Production-retry's repair, in short: failed, dead and queued work again, the rest kept."""

        def body(reader: Reader) -> tuple[Commit | None, None]:
            job = reader.job("j")
            assert job is not None
            by_hand = job.error is not None and not job.error.failure_class.retryable
            if job.status is not JobStatus.FAILED or (not by_hand and job.retry and job.retry.attempts >= 2):
                return None, None
            tasks = reader.query(tasks_of_job("j"), Task)
            if any(one.executions >= 8 for one in tasks):
                return None, None
            done = {one.id for one in tasks if one.status is TaskStatus.COMPLETED}
            redo = [one for one in tasks if one.status in {TaskStatus.FAILED, TaskStatus.DEAD, TaskStatus.QUEUED}]
            changes = [
                TaskChange(
                    one,
                    one.replace(
                        status=TaskStatus.PENDING if done.issuperset(one.depends_on) else TaskStatus.WAITING,
                        attempt=one.attempt + 1,
                        reap_count=0,
                        failures=0,
                        error=None,
                        queued_at=None,
                    ),
                    "retried",
                )
                for one in redo
            ]
            attempts = (job.retry.attempts if job.retry else 0) + (not by_hand)
            retried = job.replace(
                status=JobStatus.PENDING, error=None, production_incident=None, retry={"attempts": attempts}
            )
            by = By.OPERATOR if by_hand else By.PRODUCTION_RETRY
            return Commit(by, "retry", "c", tasks=tuple(changes), jobs=(JobChange(job, retried, "retried"),)), None

        self.gateway.transact(body)

    # messages

    @precondition(lambda self: any(task.unsent for task in self.seen.values()))
    @rule(mark=st.booleans())
    def send(self, mark: bool) -> None:
        """The outbox: send, and perhaps die before marking it."""
        for chosen in [one for one in self.seen.values() if one.unsent]:
            self.messages.append(Message(TaskMessage.for_task(chosen)))
            if mark:
                mark_sent(self.gateway, chosen, "m", By.WORKER)

    @precondition(lambda self: self.messages)
    @rule(index=st.integers(0, 99), double=st.booleans())
    def disturb(self, index: int, double: bool) -> None:
        message = self.messages[index % len(self.messages)]
        if double:
            self.messages.append(Message(message.task, message.receives))
        else:
            self.messages.remove(message)

    @rule(seconds=st.sampled_from([1, 30, 90, 300, 500, 2000, 8000]))
    def time_passes(self, seconds: int) -> None:
        self.runtime.sleep(seconds)

    # workers

    @precondition(lambda self: self.messages)
    @rule(index=st.integers(0, 99))
    def receive(self, index: int) -> None:
        message = self.messages[index % len(self.messages)]
        message.receives += 1
        claimant = Claimant(owner=f"boot-{self.runtime.new_id()[:6]}", token=self.runtime.new_id())

        def body(reader: Reader) -> tuple[Commit | None, Any]:
            task, job = reader.task_and_job(message.task.task_id, message.task.job_id)
            owner = task.lease.owner if task and task.lease else ""
            decision = decide_claim(
                message.task, task, job,
                owner_state=OwnerState.STOPPED if owner in self.stopped else OwnerState.UNKNOWN,
                claimant=claimant, receive_count=message.receives, now=reader.now, policy=POLICY,
            )  # fmt: skip
            if isinstance(decision, Claimed):
                return decision.commit, decision
            if isinstance(decision, Spent) and task is not None and job is not None:
                return decide_end(
                    task, job, status=decision.status, error=decision.error, by=By.WORKER, act="spent",
                    queued_siblings=reader.query(queued_of_job("j"), Task), dependants=[], now=reader.now,
                    needs_person=decision.needs_person,
                ), decision  # fmt: skip
            return None, decision

        decision = self.gateway.transact(body).value
        if isinstance(decision, Drop | Spent):
            self.messages.remove(message)
        if isinstance(decision, Claimed):
            task = decision.task
            self.holders.append(Holder(task.id, task.attempt, claimant.token, claimant.owner, message.receives))

    def _fenced(self, holder: Holder, decide: Any) -> Any:
        """What a worker does with its task; a zombie's act changes nothing."""

        def body(reader: Reader) -> tuple[Commit | None, Any]:
            task, job = reader.task_and_job(holder.task_id, "j")
            refused = fence(task, token=holder.token, attempt=holder.attempt)
            if refused is not None or task is None or job is None:
                return None, None
            holds = task.lease is not None and task.lease.token == holder.token
            assert holds, f"S3: {holder.owner} changes {task.id} without holding its lease"
            decision = decide(reader, task, job)
            return (decision if isinstance(decision, Commit) else decision.commit), decision

        return self.gateway.transact(body).value

    @precondition(lambda self: self.holders)
    @rule(index=st.integers(0, 99), again=st.booleans())
    def complete(self, index: int, again: bool) -> None:
        holder = self.holders[index % len(self.holders)]

        def decide(reader: Reader, task: Task, job: Job) -> Any:
            successors = [one for one in reader.all(Task, task.next) if one is not None]
            names = {name for one in successors for name in one.depends_on}
            others = [one for one in reader.all(Task, sorted(names)) if one is not None]
            return decide_completion(
                task, job, output_key="k", successors=successors,
                dependencies={one.id: one.status for one in others},
                other_open_tasks=any(one.id != task.id for one in reader.query(open_of_job("j"), Task)),
                now=reader.now,
            )  # fmt: skip

        self._fenced(holder, decide)
        if not again:
            self.holders.remove(holder)

    @precondition(lambda self: self.holders)
    @rule(index=st.integers(0, 99), cls=st.sampled_from(CLASSES), again=st.booleans())
    def fail(self, index: int, cls: FailureClass, again: bool) -> None:
        holder = self.holders[index % len(self.holders)]

        def decide(reader: Reader, task: Task, job: Job) -> Any:
            return decide_failure(
                task, job, Failure(cls, "x", "went wrong"),
                queued_siblings=reader.query(queued_of_job("j"), Task), dependants=[],
                receive_count=holder.receives, jitter=timedelta(), now=reader.now, policy=POLICY,
            )  # fmt: skip

        decision = self._fenced(holder, decide)
        if isinstance(decision, RetryLater) and not decision.fresh_message:
            self.messages.append(Message(TaskMessage(
                task_id=holder.task_id, job_id="j", step_type=self.tasks()[holder.task_id].step_type,
                attempt=holder.attempt,
            ), holder.receives))  # fmt: skip
        if not again:
            self.holders.remove(holder)

    @precondition(lambda self: self.holders)
    @rule(index=st.integers(0, 99), fresh=st.booleans())
    def drain(self, index: int, fresh: bool) -> None:
        holder = self.holders.pop(index % len(self.holders))
        self._fenced(
            holder,
            lambda reader, task, job: decide_release(task, job, reason="SIGTERM", now=reader.now, fresh_message=fresh),
        )
        self.stopped.add(holder.owner)

    @precondition(lambda self: self.holders)
    @rule(index=st.integers(0, 99))
    def announce_a_stop(self, index: int) -> None:
        self.stopped.add(self.holders[index % len(self.holders)].owner)

    @precondition(lambda self: self.holders)
    @rule(index=st.integers(0, 99))
    def renew(self, index: int) -> None:
        holder = self.holders[index % len(self.holders)]
        task = self.tasks()[holder.task_id]
        if fence(task, token=holder.token, attempt=holder.attempt) is None and task.lease is not None:
            now: datetime = self.runtime.server_time()
            if task.lease.expires_at > now:
                ends = now + POLICY.lease(POLICY.step(task))
                self.client.document(f"tasks/{task.id}").update(
                    {"lease.expiresAt": ends, "lease.renewedAt": now, "checkAt": ends + POLICY.timings.lease_grace}
                )

    # the reaper

    @precondition(lambda self: self._some(TaskStatus.RUNNING, TaskStatus.QUEUED))
    @rule(lies=st.booleans())
    def plan(self, lies: bool) -> None:
        """Sometimes the queues' books are wrong: then a message is thought lost that is only late."""
        due = [
            one for one in self.tasks().values()
            if one.check_by == By.REAPER and one.check_at and one.check_at <= self.runtime.server_time()
        ]  # fmt: skip
        queues = {}
        for step in POLICY.pipeline.reaped:
            count = 0 if lies else sum(message.task.step_type == step.name for message in self.messages)
            queues[step.queue] = QueueState(step.queue, ((count, 0), (count, 0)), None, None)
        seen = ReaperObservations(
            running=tuple(one for one in due if one.status is TaskStatus.RUNNING),
            queued=tuple(one for one in due if one.status is TaskStatus.QUEUED),
            queues=queues,
            owners=dict.fromkeys(self.stopped, OwnerState.STOPPED),
        )
        decided = decide_reaping(seen, now=self.runtime.server_time(), limits=ReaperLimits(), policy=POLICY)
        self.plans += [act for act in decided.acts if act.kind not in {ReapKind.LEAVE, ReapKind.SEND}]

    @precondition(lambda self: self.plans)
    @rule(again=st.booleans())
    def act(self, again: bool) -> None:
        """Perhaps long after the plan was made, perhaps twice: the fence decides."""
        act = self.plans[0] if again else self.plans.pop(0)
        with suppress(ConflictError):
            match act.kind:
                case ReapKind.RESEND:
                    self.gateway.transact(lambda reader: self.acts._resend(reader, act))
                case ReapKind.REAP:
                    self.gateway.transact(lambda reader: self.acts._back(reader, act))
                case _:
                    self.gateway.transact(lambda reader: self.acts._strand(reader, act))

    @invariant()
    def everything_unfinished_has_a_driver(self) -> None:
        if self.seen_job is not None:
            self._look()
            found = Evidence(policy=POLICY, tasks=self.seen, jobs={"j": self.seen_job})
            assert list(everything_has_a_driver(found)) == []


SmallJob.TestCase.settings = settings(
    max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSmallJob = SmallJob.TestCase

WEIGHTS = {
    "dispatch": 4, "cancel": 1, "retry": 3, "send": 6, "disturb": 5, "time_passes": 8, "receive": 9, "complete": 3,
    "fail": 4, "drain": 2, "announce_a_stop": 1, "renew": 2, "plan": 8, "act": 10,
}  # fmt: skip


def walk(seed: int, steps: int) -> SmallJob:
    """A long random walk: it gets deeper than generated examples do, and its seed replays it."""
    dice = random.Random(seed)
    machine = SmallJob()
    machine.create()
    for _ in range(steps):
        name = dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        arguments = {
            "cancel": lambda: {"really": dice.randint(0, 200)},
            "send": lambda: {"mark": dice.random() < 0.8},
            "disturb": lambda: {"index": dice.randint(0, 99), "double": dice.random() < 0.5},
            "time_passes": lambda: {"seconds": dice.choice([1, 30, 90, 300, 500, 2000, 8000])},
            "complete": lambda: {"index": dice.randint(0, 99), "again": dice.random() < 0.3},
            "fail": lambda: {"index": dice.randint(0, 99), "cls": dice.choice(CLASSES), "again": dice.random() < 0.3},
            "drain": lambda: {"index": dice.randint(0, 99), "fresh": dice.random() < 0.5},
            "plan": lambda: {"lies": dice.random() < 0.5},
            "act": lambda: {"again": dice.random() < 0.3},
            "receive": lambda: {"index": dice.randint(0, 99)},
            "announce_a_stop": lambda: {"index": dice.randint(0, 99)},
            "renew": lambda: {"index": dice.randint(0, 99)},
        }.get(name, dict)()
        if machine.enabled(name):
            getattr(machine, name)(**arguments)
            machine.everything_unfinished_has_a_driver()
    return machine


@pytest.mark.parametrize("seed", range(10))
def test_long_walks_break_nothing(seed: int) -> None:
    walk(seed, 200).teardown()


def test_the_walks_reach_what_they_are_for() -> None:
    """Every kind of commit happened, else the walks would prove little."""
    reached: set[str] = set()
    for seed in range(100, 105):
        machine = walk(seed, 200)
        reached |= {f"{entry.by}:{entry.act}" for entry in machine.evidence().entries}
        machine.teardown()
    assert reached >= {
        "worker:claim", "worker:take_over", "worker:complete", "worker:retry", "worker:fail", "worker:drain",
        "worker:sent", "reaper:reap", "reaper:resend", "dispatch:start_job", "operator:retry",
    }  # fmt: skip


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(1_000, 1_300))
def test_many_long_walks_break_nothing(seed: int) -> None:
    walk(seed, 400).teardown()
