"""Places are shared in turn: no queue starves another, none are lost, none are invented."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from mos.local.simulation.runtime import VirtualRuntime
from mos.runtime import SystemRuntime
from mos.workers.slots import Slots


def test_as_many_as_are_free_up_to_what_was_asked_for():
    slots = Slots(3, VirtualRuntime())
    assert [slots.reserve(2, 0), slots.reserve(2, 0), slots.reserve(2, 0)] == [2, 1, 0]


def test_who_waits_in_vain_leaves_the_line():
    slots = Slots(1, VirtualRuntime())
    slots.reserve(1, 0)
    assert slots.reserve(1, 5) == 0
    assert not slots.contended
    slots.release()
    assert slots.busy == 0


def test_a_freed_place_goes_to_who_waits_longest_and_not_to_who_gave_it_back():
    slots, order = Slots(1, SystemRuntime()), []
    slots.reserve(1, 0)
    waiting = threading.Barrier(1)

    def wait_in_line():
        if slots.reserve(1, 30):
            order.append("waited")

    thread = threading.Thread(target=wait_in_line)
    thread.start()
    while not slots.contended:
        waiting.wait(1)
    slots.release()
    assert slots.reserve(1, 0) == 0
    thread.join(10)
    assert order == ["waited"]


def test_once_closed_nobody_waits_and_nobody_gets_one():
    slots, got = Slots(1, SystemRuntime()), []
    slots.reserve(1, 0)
    thread = threading.Thread(target=lambda: got.append(slots.reserve(1, 60)))
    thread.start()
    while not slots.contended:
        thread.join(0.01)
    slots.close()
    thread.join(10)
    slots.release()
    assert (got, slots.reserve(1, 0), slots.busy) == ([0], 0, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=40), st.integers(1, 6))
def test_places_are_never_lost_and_never_more_than_there_are(steps, total):
    slots, held = Slots(total, VirtualRuntime()), 0
    for take, number in steps:
        if take:
            held += slots.reserve(number, 0)
        elif held:
            given_back = min(number, held)
            slots.release(given_back)
            held -= given_back
        assert slots.busy == held <= total
