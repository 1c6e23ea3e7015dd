"""Properties of the SQS model under any order of calls, with no faults and with all of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mos.clients.sqs import Outcome, Queues
from mos.local.aws.queues import QueueSpec, ensure_queue
from mos.local.aws.sqs_model import Fault, Faults, Kind, SqsModel

WINDOW, MAX_RECEIVES = 30, 3
FOREIGN = (Outcome.LEASE_LOST, Outcome.REFUSED)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 40)),
        st.tuples(st.just("receive"), st.integers(1, 10)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("extend"), st.integers(0, 30), st.sampled_from([0, 5, 60, 43_200])),
        st.tuples(st.just("elapse"), st.sampled_from([0.5, 10, 29, 31, 3600])),
    ),
    max_size=60,
)


class Run:
    """One run of a list of steps, with what any observer could note."""

    def __init__(self, clock_type, faults=()):
        self.clock = clock_type()
        self.faults = Faults(faults)
        self.model = SqsModel(now=self.clock.read, event=self.clock.event, faults=self.faults)
        ensure_queue(
            self.model.client(), QueueSpec(name="q", visibility_timeout=WINDOW, max_receive_count=MAX_RECEIVES)
        )
        self.queues = Queues(self.model.client())
        self.deliveries = []
        self.sent = []
        self.deleted = set()
        self.until = {}
        self.trace = []

    def play(self, script):
        for step in script:
            self.trace.append(repr(getattr(self, step[0])(*step[1:])))
        return self

    def send(self, delay):
        self.sent.append(self.queues.send("q", f"m{len(self.sent)}", attributes={}, delay_seconds=delay))
        return self.sent[-1]

    def receive(self, limit):
        got = self.queues.receive("q", max_messages=limit, wait_seconds=0)
        for message in got:
            assert self.until.get(message.message_id, 0) <= self.clock.now, "received inside its window"
            self.until[message.message_id] = self.clock.now + WINDOW
        self.deliveries += got
        return got

    def elapse(self, seconds):
        self.clock.now += seconds

    def _pick(self, index):
        return self.deliveries[index % len(self.deliveries)] if self.deliveries else None

    def delete(self, index):
        delivery = self._pick(index)
        if delivery is None:
            return None
        before = {message.message_id for message in self.model.peek("q")}
        (result,) = self.queues.delete("q", [delivery.receipt_handle])
        self.deleted |= before - {message.message_id for message in self.model.peek("q")}
        return result.outcome

    def extend(self, index, seconds):
        delivery = self._pick(index)
        if delivery is None:
            return None
        (result,) = self.queues.extend("q", [(delivery.receipt_handle, seconds)])
        if result.outcome is Outcome.OK:
            self.until[delivery.message_id] = self.clock.now + seconds
        else:
            assert result.outcome in FOREIGN
        return result.outcome


@given(script=steps)
@settings(max_examples=150, deadline=None)
def test_every_message_is_in_exactly_one_place_and_never_received_inside_its_window(clock_type, script):
    run = Run(clock_type).play(script)
    in_queue = [message.message_id for message in run.model.peek("q")]
    dead = [message.message_id for message in run.model.peek("q-dlq")]
    assert sorted([*in_queue, *dead, *run.deleted]) == sorted(run.sent)
    assert run.queues.depth("q").total == len(in_queue)


@given(script=steps)
@settings(max_examples=100, deadline=None)
def test_nobody_receives_a_message_more_often_than_the_policy_allows(clock_type, script):
    run = Run(clock_type).play(script)
    assert all(message.receive_count <= MAX_RECEIVES for message in run.deliveries)
    receipts = [message.receipt_handle for message in run.deliveries]
    assert len(set(receipts)) == len(receipts)


@given(script=steps)
@settings(max_examples=100, deadline=None)
def test_a_run_that_is_repeated_is_the_same_to_the_byte(clock_type, script):
    faults = [
        Fault(kind=Kind.DUPLICATE, skip=1, times=2),
        Fault(kind=Kind.REORDER, times=None),
        Fault(kind=Kind.LOSE, skip=3),
    ]

    class Loose(Run):
        def receive(self, limit):
            got = self.queues.receive("q", max_messages=limit, wait_seconds=0)
            self.deliveries += got
            return got

    first, second = Loose(clock_type, faults).play(script), Loose(clock_type, faults).play(script)
    assert first.trace == second.trace
    assert first.model.peek("q") == second.model.peek("q")
    assert first.faults.hits == second.faults.hits


@given(script=steps)
@settings(max_examples=100, deadline=None)
def test_after_everybody_stopped_each_message_left_can_be_received_or_is_a_dead_letter(clock_type, script):
    """No message is stuck: none is neither visible nor on its way to be."""
    run = Run(clock_type).play(script)
    run.clock.now += 43_200
    left = {message.message_id for message in run.model.peek("q")}
    got = set()
    while batch := run.queues.receive("q", max_messages=10, wait_seconds=0):
        got |= {message.message_id for message in batch}
    dead = {message.message_id for message in run.model.peek("q-dlq")}
    assert left <= got | dead
