"""What the SQS model does beyond what moto can show: virtual polls, misbehaviour by script, determinism."""

import json
import threading

import pytest
from botocore.exceptions import ClientError

from mos.clients.sqs import Outcome, Queues
from mos.domain.errors import QueueError
from mos.local.aws.sqs_model import Call, Fault, Kind, Operation, SqsModel

TASK = {"v": 1, "taskId": "t1", "attempt": 2}


def body(**fields):
    return json.dumps({**TASK, **fields})


def receive(queues, limit=10, wait=0):
    return queues.receive("q", max_messages=limit, wait_seconds=wait)


def send(queues, *bodies, **options):
    return [queues.send("q", one, attributes={}, **options) for one in bodies]


class TestLongPoll:
    def test_ends_with_the_send_that_satisfies_it(self, modelled, clock):
        clock.at(7, lambda: send(modelled, "a"))
        (received,) = receive(modelled, wait=20)
        assert (received.body, clock.now) == ("a", 1_800_000_007.0)

    def test_ends_empty_when_its_time_is_over(self, modelled, clock):
        assert receive(modelled, wait=20) == []
        assert clock.now == 1_800_000_020.0

    def test_ends_when_a_hidden_message_becomes_visible(self, modelled, clock):
        send(modelled, "a", delay_seconds=5)
        assert [message.body for message in receive(modelled, wait=20)] == ["a"]
        assert clock.now == 1_800_000_005.0

    def test_ends_with_a_release(self, modelled, clock):
        send(modelled, "a")
        handle = receive(modelled)[0].receipt_handle
        clock.at(3, lambda: modelled.extend("q", [(handle, 0)]))
        assert receive(modelled, wait=20)[0].receive_count == 2
        assert clock.now == 1_800_000_003.0

    def test_goes_on_when_somebody_else_was_faster(self, modelled, clock):
        def come_and_go():
            send(modelled, "a")
            modelled.delete("q", [receive(modelled)[0].receipt_handle])

        clock.at(3, come_and_go)
        assert receive(modelled, wait=20) == []
        assert clock.now == 1_800_000_020.0

    def test_leaves_nothing_behind(self, modelled, model):
        receive(modelled, wait=20)
        assert model._region._waiting == {"q": []}

    def test_leaves_nothing_behind_when_its_caller_dies(self, modelled, model, clock):
        def die():
            raise KeyboardInterrupt

        clock.at(3, die)
        with pytest.raises(KeyboardInterrupt):
            receive(modelled, wait=20)
        assert model._region._waiting == {"q": []}

    def test_holds_no_lock_while_it_waits(self, modelled, clock):
        """Another thread's send during the wait would otherwise never return."""

        def elsewhere():
            thread = threading.Thread(target=send, args=(modelled, "a"))
            thread.start()
            thread.join(10)
            assert not thread.is_alive()

        clock.at(3, elsewhere)
        assert [message.body for message in receive(modelled, wait=20)] == ["a"]


class TestReceipts:
    def test_an_old_receipt_neither_deletes_nor_moves_a_newer_delivery(self, modelled, clock):
        send(modelled, "a")
        old = receive(modelled)[0].receipt_handle
        clock.now += 31
        new = receive(modelled)[0].receipt_handle
        assert modelled.delete("q", [old])[0].outcome is Outcome.OK
        assert modelled.extend("q", [(old, 0)])[0].outcome is Outcome.LEASE_LOST
        assert modelled.depth("q").in_flight == 1
        assert modelled.extend("q", [(new, 60)])[0].outcome is Outcome.OK

    @pytest.mark.parametrize("handle", ["", "q", "q~", "q~0", "q~0~x", "q~99~1", "other~0~1", "q~-1~1", "q~²~1"])
    def test_a_receipt_that_was_never_issued_is_invalid(self, modelled, handle):
        send(modelled, "a")
        receive(modelled)
        (result,) = modelled.delete("q", [handle])
        assert (result.outcome, result.error.code) == (Outcome.LEASE_LOST, "ReceiptHandleIsInvalid")

    def test_the_three_faces_of_a_lost_lease(self, modelled, clock):
        send(modelled, "a")
        handle = receive(modelled)[0].receipt_handle
        clock.now += 31
        visible_again = modelled.extend("q", [(handle, 60)])[0]
        receive(modelled)
        replaced = modelled.extend("q", [(handle, 60)])[0]
        modelled.delete("q", [receive_again(modelled, clock).receipt_handle])
        gone = modelled.extend("q", [(handle, 60)])[0]
        results = (visible_again, replaced, gone)
        assert [result.outcome for result in results] == [Outcome.LEASE_LOST] * 3
        codes = ["MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"]
        assert [result.error.code for result in results] == codes


def receive_again(queues, clock):
    clock.now += 31
    return receive(queues)[0]


class TestCallFaults:
    @pytest.mark.parametrize(
        ("kind", "code", "ambiguous"),
        [
            (Kind.THROTTLE, "RequestThrottled", False),
            (Kind.UNAVAILABLE, "ServiceUnavailable", True),
            (Kind.LOSE_REQUEST, "timeout", True),
            (Kind.OUTAGE, "timeout", False),
        ],
    )
    def test_a_send_that_fails_is_not_in_the_queue(self, modelled, model, faults, kind, code, ambiguous):
        faults.add(Fault(kind=kind, operation=Operation.SEND))
        with pytest.raises(QueueError) as caught:
            send(modelled, "a")
        assert (caught.value.code, caught.value.retryable) == (code, True)
        assert caught.value.details["ambiguous"] is ambiguous
        assert model.peek("q") == []
        assert send(modelled, "b")
        assert faults.hits == {kind: 1}

    def test_a_send_whose_reply_is_lost_is_in_the_queue(self, modelled, model, faults):
        faults.add(Fault(kind=Kind.LOSE_REPLY, operation=Operation.SEND))
        with pytest.raises(QueueError) as caught:
            send(modelled, "a")
        assert (caught.value.code, caught.value.details["ambiguous"]) == ("timeout", True)
        assert [message.body for message in model.peek("q")] == ["a"]

    def test_a_receive_whose_reply_is_lost_leaves_its_messages_in_flight(self, modelled, model, faults, clock):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.LOSE_REPLY, operation=Operation.RECEIVE))
        with pytest.raises(QueueError, match="timeout"):
            receive(modelled)
        assert modelled.depth("q").in_flight == 1
        clock.now += 31
        assert receive(modelled)[0].receive_count == 2

    def test_a_delete_whose_reply_is_lost_is_done(self, modelled, model, faults):
        send(modelled, "a")
        handle = receive(modelled)[0].receipt_handle
        faults.add(Fault(kind=Kind.LOSE_REPLY, operation=Operation.DELETE))
        assert modelled.delete("q", [handle])[0].outcome is Outcome.TRY_AGAIN
        assert model.peek("q") == []
        assert modelled.delete("q", [handle])[0].outcome is Outcome.OK

    def test_an_outage_ends_at_its_time(self, modelled, faults, clock):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.OUTAGE, since=clock.now, until=clock.now + 600, times=None))
        for _ in range(3):
            with pytest.raises(QueueError, match="timeout"):
                receive(modelled)
        clock.now += 600
        assert len(receive(modelled)) == 1

    def test_a_call_fault_may_wait_for_the_call_about_one_message(self, modelled, faults):
        send(modelled, body(taskId="other"), body())
        other, mine = receive(modelled)
        faults.add(Fault(kind=Kind.THROTTLE, operation=Operation.DELETE, match={"taskId": "t1"}))
        assert modelled.delete("q", [other.receipt_handle])[0].outcome is Outcome.OK
        assert modelled.delete("q", [mine.receipt_handle])[0].outcome is Outcome.TRY_AGAIN
        assert modelled.delete("q", [mine.receipt_handle])[0].outcome is Outcome.OK


class TestMessageFaults:
    def test_a_lost_send_is_acknowledged_and_gone(self, modelled, model, faults):
        faults.add(Fault(kind=Kind.LOSE, operation=Operation.SEND))
        assert send(modelled, "a")
        assert model.peek("q") == []

    def test_a_duplicate_send_is_stored_twice_under_one_id(self, modelled, faults):
        faults.add(Fault(kind=Kind.DUPLICATE, operation=Operation.SEND))
        send(modelled, "a")
        first, second = receive(modelled)
        assert first.message_id == second.message_id
        assert first.receipt_handle != second.receipt_handle

    def test_a_delayed_send_comes_late(self, modelled, faults, clock):
        faults.add(Fault(kind=Kind.DELAY, seconds=3600))
        send(modelled, "a", delay_seconds=10)
        clock.now += 3609
        assert receive(modelled) == []
        clock.now += 2
        assert len(receive(modelled)) == 1

    def test_a_duplicate_receive_leaves_the_message_visible_to_others(self, modelled, faults):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.DUPLICATE, operation=Operation.RECEIVE))
        first, second = receive(modelled)[0], receive(modelled)[0]
        assert (first.receive_count, second.receive_count) == (1, 2)
        assert modelled.extend("q", [(first.receipt_handle, 60)])[0].outcome is Outcome.LEASE_LOST
        assert modelled.extend("q", [(second.receipt_handle, 60)])[0].outcome is Outcome.OK

    def test_a_lost_delete_is_acknowledged_and_the_message_comes_back(self, modelled, faults, clock):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.LOSE, operation=Operation.DELETE))
        assert modelled.delete("q", [receive(modelled)[0].receipt_handle])[0].outcome is Outcome.OK
        clock.now += 31
        assert receive(modelled)[0].receive_count == 2

    def test_a_lost_extension_is_acknowledged_and_moves_nothing(self, modelled, faults, clock):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.LOSE, operation=Operation.EXTEND))
        assert modelled.extend("q", [(receive(modelled)[0].receipt_handle, 600)])[0].outcome is Outcome.OK
        clock.now += 31
        assert receive(modelled)[0].receive_count == 2

    @pytest.mark.parametrize(
        ("code", "outcome"),
        [("", Outcome.LEASE_LOST), ("MessageNotInflight", Outcome.LEASE_LOST), ("InternalError", Outcome.TRY_AGAIN)],
    )
    def test_a_refused_window_hits_one_entry_of_a_batch(self, modelled, faults, code, outcome):
        send(modelled, body(taskId="other"), body())
        faults.add(Fault(kind=Kind.REFUSE, operation=Operation.EXTEND, match={"taskId": "t1"}, code=code))
        results = modelled.extend("q", [(message.receipt_handle, 60) for message in receive(modelled)])
        assert [result.outcome for result in results] == [Outcome.OK, outcome]

    def test_a_refused_send_is_an_error_of_the_service(self, modelled, faults):
        faults.add(Fault(kind=Kind.REFUSE, operation=Operation.SEND))
        with pytest.raises(QueueError) as caught:
            send(modelled, "a")
        assert (caught.value.code, caught.value.retryable) == ("InternalError", True)


class TestReceiveFaults:
    def test_reordered_means_newest_first(self, modelled, faults):
        send(modelled, "a", "b", "c")
        faults.add(Fault(kind=Kind.REORDER))
        assert [message.body for message in receive(modelled, 2)] == ["c", "b"]

    def test_withheld_means_empty_although_messages_wait(self, modelled, faults, clock):
        send(modelled, "a")
        faults.add(Fault(kind=Kind.WITHHOLD))
        assert receive(modelled, wait=20) == []
        assert clock.now == 1_800_000_000.0
        assert len(receive(modelled)) == 1


class TestSites:
    @pytest.mark.parametrize(
        ("site", "hit"),
        [
            ({}, [0]),
            ({"skip": 2}, [2]),
            ({"times": 2}, [0, 1]),
            ({"times": None}, [0, 1, 2, 3]),
            ({"skip": 1, "times": None}, [1, 2, 3]),
            ({"match": {"taskId": "t1", "attempt": 2}}, [1]),
            ({"match": {"attempt": 2}, "skip": 1}, [3]),
            ({"match": {"missing": None}}, []),
            ({"queue": "q"}, [0]),
            ({"queue": "elsewhere"}, []),
            ({"since": 1_800_000_001.0}, []),
            ({"until": 1_800_000_000.0}, []),
        ],
    )
    def test_say_which_messages_are_hit(self, modelled, model, faults, site, hit):
        bodies = [body(attempt=1), body(), "not JSON", body(taskId="t9")]
        faults.add(Fault(kind=Kind.LOSE, operation=Operation.SEND, **site))
        send(modelled, *bodies)
        kept = [message.body for message in model.peek("q")]
        assert kept == [one for index, one in enumerate(bodies) if index not in hit]
        assert faults.hits[Kind.LOSE] == len(hit)

    def test_two_faults_at_one_site_come_one_after_the_other(self, modelled, faults):
        faults.add(Fault(kind=Kind.THROTTLE, operation=Operation.SEND))
        faults.add(Fault(kind=Kind.LOSE_REQUEST, operation=Operation.SEND, skip=1))
        codes = []
        for _ in range(2):
            with pytest.raises(QueueError) as caught:
                send(modelled, "a")
            codes.append(caught.value.code)
        assert codes == ["RequestThrottled", "timeout"]

    def test_stop_ends_all_of_them_and_keeps_the_count(self, modelled, faults):
        faults.add(Fault(kind=Kind.LOSE, operation=Operation.SEND, times=None))
        send(modelled, "a")
        faults.stop()
        send(modelled, "b")
        assert [message.body for message in receive(modelled)] == ["b"]
        assert faults.hits == {Kind.LOSE: 1}

    @pytest.mark.parametrize(
        "wrong",
        [
            {"kind": Kind.DELAY, "operation": Operation.RECEIVE, "seconds": 1},
            {"kind": Kind.DELAY},
            {"kind": Kind.REORDER, "operation": Operation.SEND},
            {"kind": Kind.LOSE, "operation": Operation.RECEIVE},
            {"kind": Kind.THROTTLE, "operation": Operation.RECEIVE, "match": {"taskId": "t1"}},
        ],
    )
    def test_a_fault_that_cannot_happen_is_refused_where_it_is_written(self, wrong):
        with pytest.raises(ValueError, match=r"cannot happen|needs"):
            Fault(**wrong)


class TestAround:
    def test_sees_each_call_before_and_after_its_effect(self, clock):
        seen = []

        def around(call: Call, do):
            before = len(model._region.queues)
            reply = do()
            seen.append((call.method, call.operation, call.queue, call.bodies, len(model._region.queues) - before))
            return reply

        model = SqsModel(now=clock.read, event=clock.event, around=around)
        model.create_queue(QueueName="q")
        queues = Queues(model.client())
        send(queues, "a")
        queues.delete("q", [receive(queues)[0].receipt_handle])
        assert seen == [
            ("create_queue", Operation.OTHER, "q", (), 1),
            ("get_queue_url", Operation.OTHER, "q", (), 0),
            ("send_message", Operation.SEND, "q", ("a",), 0),
            ("receive_message", Operation.RECEIVE, "q", (), 0),
            ("delete_message_batch", Operation.DELETE, "q", ("a",), 0),
        ]

    def test_may_end_a_call_before_its_effect(self, clock):
        class Killed(BaseException):
            pass

        def around(call: Call, do):
            if call.operation is Operation.SEND:
                raise Killed
            return do()

        model = SqsModel(now=clock.read, event=clock.event, around=around)
        model.create_queue(QueueName="q")
        with pytest.raises(Killed):
            send(Queues(model.client()), "a")
        assert model.peek("q") == []


class TestLimits:
    @pytest.mark.parametrize("text", ["a\x00b", "\ud800", "\ufffe", "\x1f"])
    def test_characters_outside_sqs_s_set_are_refused(self, modelled, text):
        with pytest.raises(QueueError) as caught:
            send(modelled, text)
        assert (caught.value.code, caught.value.retryable) == ("InvalidMessageContents", False)

    def test_an_empty_body_is_refused(self, modelled):
        with pytest.raises(QueueError, match="MissingParameter"):
            send(modelled, "")

    def test_attributes_count_towards_the_size_and_are_ten_at_most(self, modelled):
        with pytest.raises(QueueError, match="InvalidParameterValue"):
            modelled.send("q", "x" * 1_048_570, attributes={"name": "value"})
        with pytest.raises(QueueError, match="InvalidParameterValue"):
            modelled.send("q", "x", attributes={f"a{index}": "1" for index in range(11)})

    def test_too_many_in_flight_is_over_the_limit(self, modelled, monkeypatch):
        monkeypatch.setattr("mos.local.aws.sqs_model.region.IN_FLIGHT_LIMIT", 2)
        send(modelled, "a", "b", "c")
        receive(modelled, 2)
        with pytest.raises(QueueError, match="OverLimit") as caught:
            receive(modelled)
        assert caught.value.retryable

    def test_errors_have_botocore_s_shape_in_both_spellings(self, model):
        with pytest.raises(ClientError) as caught:
            model.get_queue_url(QueueName="nobody")
        assert caught.value.operation_name == "GetQueueUrl"
        assert caught.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
        assert caught.value.response["Error"]["QueryErrorCode"] == "QueueDoesNotExist"
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_message_can_be_dropped_behind_everybody_s_back(modelled, model):
    (message_id,) = send(modelled, "a")
    assert model.drop("q", message_id)
    assert not model.drop("q", message_id)
    assert receive(modelled) == []


def test_a_redrive_policy_without_its_queue_moves_nothing(model, modelled, clock):
    policy = {"deadLetterTargetArn": "arn:gone", "maxReceiveCount": 1}
    url = model.get_queue_url(QueueName="q")["QueueUrl"]
    model.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(policy)})
    send(modelled, "a")
    receive(modelled)
    assert receive_again(modelled, clock).receive_count == 2


def test_a_message_that_must_go_to_the_dead_letters_does_not_stand_in_the_way(modelled, clock):
    send(modelled, "poison", "poison")
    for _ in range(3):
        receive(modelled)
        clock.now += 31
    send(modelled, "good")
    assert [message.body for message in receive(modelled, 1)] == ["good"]
    assert modelled.depth("q-dlq").visible == 2
