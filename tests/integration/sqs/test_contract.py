"""What SQS does, as our client sees it, on the model and on moto alike.

Where moto differs from the service, the test asserts both and names it.
"""

import pytest
from botocore.exceptions import ClientError

from mos.clients.sqs import Depth, Outcome
from mos.domain.errors import QueueError
from mos.local.aws.queues import QueueSpec, ensure_queue, ensure_queues

HOUR = 3600


def outcomes(results):
    return [result.outcome for result in results]


def test_a_sent_message_arrives_with_its_body_attributes_count_and_time(sqs):
    message_id = sqs.queues.send(sqs.queue, '{"v": 1}', attributes={"correlationId": "c-1", "attempt": "2"})
    received = sqs.one()
    assert (received.message_id, received.body, received.receive_count) == (message_id, '{"v": 1}', 1)
    assert received.attributes == {"correlationId": "c-1", "attempt": "2"}
    assert abs(received.sent_at_ms / 1000 - sqs.now()) < 5


@pytest.mark.parametrize(
    "body", ["ö → 🎬", " ", "\t\n\r", "x" * 1_048_576], ids=["unicode", "space", "controls", "1 MiB"]
)
def test_what_sqs_may_carry_arrives_unchanged(sqs, body):
    sqs.send(body)
    assert sqs.one().body == body


def test_a_received_message_is_hidden_and_comes_back_with_a_new_receipt(sqs):
    sqs.send("a")
    first = sqs.one()
    sqs.elapse(29)
    assert sqs.receive() == []
    sqs.elapse(2)
    second = sqs.one()
    assert second.receive_count == 2
    assert second.message_id == first.message_id
    assert second.receipt_handle != first.receipt_handle


def test_a_receive_hands_out_ten_at_most_and_never_one_twice(sqs):
    sent = set(sqs.send(*"abcdefghijkl"))
    first, second = sqs.receive(12), sqs.receive(12)
    assert (len(first), len(second)) == (10, 2)
    assert {message.message_id for message in first + second} == sent


def test_a_receive_hands_out_no_more_than_asked(sqs):
    sqs.send("a", "b", "c")
    assert len(sqs.receive(2)) == 2


def test_an_extension_resets_the_window_and_never_adds_up(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    for _ in range(3):
        sqs.elapse(20)
        assert outcomes(sqs.queues.extend(sqs.queue, [(handle, 40)])) == [Outcome.OK]
    sqs.elapse(39)
    assert sqs.receive() == []
    sqs.elapse(2)
    assert sqs.one().receive_count == 2


def test_an_extension_by_zero_releases_the_message_at_once(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    assert outcomes(sqs.queues.extend(sqs.queue, [(handle, 0)])) == [Outcome.OK]
    sqs.elapse(0.01)
    assert sqs.one().receive_count == 2


def test_an_extension_may_shorten_the_window(sqs):
    sqs.send("a")
    sqs.queues.extend(sqs.queue, [(sqs.one().receipt_handle, 5)])
    sqs.elapse(6)
    assert len(sqs.receive()) == 1


def test_a_deleted_message_never_comes_back_and_may_be_deleted_again(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    assert outcomes(sqs.queues.delete(sqs.queue, [handle])) == [Outcome.OK]
    assert outcomes(sqs.queues.delete(sqs.queue, [handle])) == [Outcome.OK]
    sqs.elapse(HOUR)
    assert sqs.receive() == []


def test_a_message_whose_window_ended_can_still_be_deleted_by_its_newest_receipt(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    sqs.elapse(31)
    assert outcomes(sqs.queues.delete(sqs.queue, [handle])) == [Outcome.OK]
    assert sqs.queues.depth(sqs.queue).total == 0


def test_a_foreign_receipt_is_lost_and_hides_nothing_about_the_others(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    extended = sqs.queues.extend(sqs.queue, [("junk", 60), (handle, 60)])
    assert outcomes(extended) == [Outcome.LEASE_LOST, Outcome.OK]
    assert extended[0].error.code == "ReceiptHandleIsInvalid"
    assert outcomes(sqs.queues.delete(sqs.queue, ["junk", handle])) == [Outcome.LEASE_LOST, Outcome.OK]


def test_extending_a_deleted_message_says_that_the_lease_is_lost(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    sqs.queues.delete(sqs.queue, [handle])
    assert outcomes(sqs.queues.extend(sqs.queue, [(handle, 60)])) == [Outcome.LEASE_LOST]


def test_more_than_ten_entries_go_in_batches_and_answer_in_order(sqs):
    sqs.send(*(str(number) for number in range(23)))
    handles = [message.receipt_handle for _ in range(3) for message in sqs.receive()]
    extended = sqs.queues.extend(sqs.queue, [(handle, 300) for handle in handles])
    assert [result.receipt_handle for result in extended] == handles
    sqs.elapse(299)
    assert sqs.receive() == []
    assert outcomes(sqs.queues.delete(sqs.queue, handles)) == [Outcome.OK] * 23
    assert sqs.queues.depth(sqs.queue).total == 0


def test_the_receive_that_would_be_one_too_many_moves_the_message_to_the_dead_letter_queue(sqs):
    sqs.send("a")
    assert [(sqs.one().receive_count, sqs.elapse(31))[0] for _ in range(3)] == [1, 2, 3]
    assert sqs.receive() == []
    assert sqs.queues.depth(sqs.queue).total == 0
    assert sqs.queues.depth(f"{sqs.queue}-dlq") == Depth(visible=1, in_flight=0, delayed=0)


def test_a_release_counts_towards_the_dead_letter_queue(sqs):
    sqs.send("a")
    for _ in range(3):
        sqs.queues.extend(sqs.queue, [(sqs.one().receipt_handle, 0)])
        sqs.elapse(0.01)
    assert sqs.receive() == []
    assert sqs.queues.depth(f"{sqs.queue}-dlq").visible == 1


def test_a_delayed_message_waits_for_its_time(sqs):
    sqs.queues.send(sqs.queue, "later", attributes={}, delay_seconds=60)
    assert sqs.receive() == []
    assert sqs.queues.depth(sqs.queue) == Depth(visible=0, in_flight=0, delayed=1)
    sqs.elapse(61)
    assert sqs.one().body == "later"


def test_the_depth_tells_visible_from_in_flight(sqs):
    sqs.send("a", "b", "c")
    sqs.receive(1)
    assert sqs.queues.depth(sqs.queue) == Depth(visible=2, in_flight=1, delayed=0)


def test_a_message_outlives_three_days_but_not_its_retention_period(sqs):
    sqs.send("a")
    sqs.elapse(3 * 24 * HOUR)
    assert sqs.one().body == "a"
    sqs.elapse(24 * HOUR + 1)
    assert sqs.receive() == []


def test_an_unknown_queue_is_an_error_that_says_what_to_do(sqs):
    with pytest.raises(QueueError, match=r"pipeline\.toml") as caught:
        sqs.queues.send("no-such-queue", "a", attributes={})
    assert (caught.value.code, caught.value.retryable) == ("QueueDoesNotExist", False)
    assert isinstance(caught.value.__cause__, ClientError)


@pytest.mark.parametrize(("body", "delay"), [("a", 901), ("x" * 1_048_577, 0)], ids=["delay", "1 MiB and a byte"])
def test_what_sqs_refuses_is_not_tried_again(sqs, body, delay):
    with pytest.raises(QueueError) as caught:
        sqs.queues.send(sqs.queue, body, attributes={}, delay_seconds=delay)
    assert not caught.value.retryable
    assert not caught.value.details["ambiguous"]
    assert sqs.queues.depth(sqs.queue).total == 0


def test_past_twelve_hours_since_the_receive_an_extension_is_refused_not_trimmed(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    sqs.queues.extend(sqs.queue, [(handle, 11 * HOUR + 1800)])
    sqs.elapse(11 * HOUR)
    (refused,) = sqs.queues.extend(sqs.queue, [(handle, HOUR + 60)])
    assert refused.outcome is Outcome.REFUSED
    assert "43200" in refused.error.message
    sqs.elapse(1801)
    assert sqs.one().receive_count == 2


def test_the_twelve_hours_start_with_the_receive_where_moto_starts_with_the_sending(sqs):
    sqs.send("a")
    sqs.elapse(11 * HOUR)
    handle = sqs.one().receipt_handle
    (result,) = sqs.queues.extend(sqs.queue, [(handle, 2 * HOUR)])
    assert result.outcome is (Outcome.REFUSED if sqs.is_moto else Outcome.OK)


def test_one_refused_window_leaves_the_others_alone_where_moto_refuses_the_whole_batch(sqs):
    sqs.send("a", "b")
    old, young = (message.receipt_handle for message in sqs.receive())
    sqs.queues.extend(sqs.queue, [(old, 11 * HOUR), (young, 11 * HOUR)])
    sqs.elapse(10 * HOUR)
    results = sqs.queues.extend(sqs.queue, [(old, 3 * HOUR), (young, 60)])
    assert outcomes(results) == [Outcome.REFUSED, Outcome.REFUSED if sqs.is_moto else Outcome.OK]


def test_an_old_receipt_deletes_nothing_where_moto_deletes_the_newer_delivery(sqs):
    sqs.send("a")
    old = sqs.one().receipt_handle
    sqs.elapse(31)
    sqs.one()
    assert outcomes(sqs.queues.delete(sqs.queue, [old])) == [Outcome.OK]
    assert sqs.queues.depth(sqs.queue).in_flight == (0 if sqs.is_moto else 1)


def test_an_old_receipt_moves_no_window_where_moto_releases_the_newer_delivery(sqs):
    sqs.send("a")
    old = sqs.one().receipt_handle
    sqs.elapse(31)
    sqs.one()
    (result,) = sqs.queues.extend(sqs.queue, [(old, 0)])
    sqs.elapse(0.01)
    assert result.outcome is (Outcome.OK if sqs.is_moto else Outcome.LEASE_LOST)
    assert len(sqs.receive()) == (1 if sqs.is_moto else 0)


def test_a_message_that_is_visible_again_cannot_be_hidden_where_moto_hides_it(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    sqs.elapse(31)
    (result,) = sqs.queues.extend(sqs.queue, [(handle, 60)])
    assert result.outcome is (Outcome.OK if sqs.is_moto else Outcome.LEASE_LOST)
    assert len(sqs.receive()) == (0 if sqs.is_moto else 1)


def test_ensuring_queues_twice_keeps_messages_and_applies_what_changed(sqs):
    sqs.send("a")
    changed = QueueSpec(name=sqs.queue, visibility_timeout=5, max_receive_count=1)
    ensure_queues(sqs.client, [changed, changed])
    assert sqs.one().body == "a"
    sqs.elapse(6)
    assert sqs.receive() == []
    assert sqs.queues.depth(changed.dead_letter_name).visible == 1


def test_a_queue_that_exists_otherwise_is_not_created_again(sqs):
    with pytest.raises(ClientError) as caught:
        sqs.client.create_queue(QueueName=sqs.queue, Attributes={"VisibilityTimeout": "31"})
    assert caught.value.response["Error"]["Code"] == "QueueAlreadyExists"


def test_a_batch_of_sends_answers_per_entry(sqs):
    entries = [{"Id": "a", "MessageBody": "1"}, {"Id": "b", "MessageBody": "2", "DelaySeconds": 901}]
    reply = sqs.client.send_message_batch(QueueUrl=sqs.url, Entries=entries)
    assert [entry["Id"] for entry in reply["Successful"]] == ["a"]
    assert [(entry["Id"], entry["Code"]) for entry in reply["Failed"]] == [("b", "InvalidParameterValue")]


@pytest.mark.parametrize(
    ("ids", "code"),
    [([], "EmptyBatchRequest"), (["a", "a"], "BatchEntryIdsNotDistinct"), (list("abcdefghijk"), "TooManyEntries")],
    ids=["empty", "repeated", "eleven"],
)
def test_a_batch_that_breaks_the_rules_is_refused_whole(sqs, ids, code):
    entries = [{"Id": entry_id, "MessageBody": "x"} for entry_id in ids]
    with pytest.raises(ClientError) as caught:
        sqs.client.send_message_batch(QueueUrl=sqs.url, Entries=entries)
    assert code in caught.value.response["Error"]["Code"]
    assert sqs.queues.depth(sqs.queue).total == 0


@pytest.mark.parametrize("wrong", [{"MaxNumberOfMessages": 11}, {"WaitTimeSeconds": 21}, {"VisibilityTimeout": 43_201}])
def test_numbers_out_of_range_are_refused(sqs, wrong):
    with pytest.raises(ClientError) as caught:
        sqs.client.receive_message(QueueUrl=sqs.url, **wrong)
    assert caught.value.response["Error"]["Code"] == "InvalidParameterValue"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_single_calls_do_what_their_batches_do(sqs):
    sqs.send("a")
    handle = sqs.one().receipt_handle
    sqs.client.change_message_visibility(QueueUrl=sqs.url, ReceiptHandle=handle, VisibilityTimeout=100)
    sqs.elapse(99)
    assert sqs.receive() == []
    sqs.client.delete_message(QueueUrl=sqs.url, ReceiptHandle=handle)
    assert sqs.queues.depth(sqs.queue).total == 0
    with pytest.raises(ClientError, match="ReceiptHandleIsInvalid"):
        sqs.client.change_message_visibility(QueueUrl=sqs.url, ReceiptHandle="junk", VisibilityTimeout=1)


def test_a_purge_forgets_all_messages_and_a_list_finds_the_queues(sqs):
    sqs.send("a", "b")
    sqs.receive(1)
    sqs.client.purge_queue(QueueUrl=sqs.url)
    assert sqs.queues.depth(sqs.queue).total == 0
    urls = sqs.client.list_queues(QueueNamePrefix=sqs.queue)["QueueUrls"]
    assert sorted(url.rsplit("/", 1)[1] for url in urls) == [sqs.queue, f"{sqs.queue}-dlq"]
    assert "QueueUrls" not in sqs.client.list_queues(QueueNamePrefix="nobody")


def test_only_the_attributes_that_were_asked_for_are_shown(sqs):
    sqs.queues.send(sqs.queue, "a", attributes={"one": "1", "two": "2"})
    asked = {"MessageAttributeNames": ["one"], "MessageSystemAttributeNames": ["SentTimestamp"]}
    (message,) = sqs.client.receive_message(QueueUrl=sqs.url, **asked)["Messages"]
    assert set(message["MessageAttributes"]) == {"one"}
    assert set(message["Attributes"]) == {"SentTimestamp"}


def test_a_redrive_policy_sends_nowhere_but_to_its_own_dead_letter_queue(sqs):
    other = QueueSpec(name=f"{sqs.queue}-other", visibility_timeout=30, max_receive_count=1)
    ensure_queue(sqs.client, other)
    sqs.queues.send(other.name, "a", attributes={})
    sqs.queues.receive(other.name, max_messages=1, wait_seconds=0)
    sqs.elapse(31)
    sqs.queues.receive(other.name, max_messages=1, wait_seconds=0)
    assert sqs.queues.depth(other.dead_letter_name).visible == 1
    assert sqs.queues.depth(f"{sqs.queue}-dlq").visible == 0
