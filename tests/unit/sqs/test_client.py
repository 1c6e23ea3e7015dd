"""The SQS client over a stock boto3 client whose answers are scripted on the wire."""

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

from mos.clients.aws import CONNECT_TIMEOUT, MAX_ATTEMPTS, READ_TIMEOUT, make_boto_client
from mos.clients.sqs import EntryResult, Outcome, Queues
from mos.domain.errors import PipelineStateError, QueueError, SettingsError, ValidationError
from mos.domain.timings import Timings

GONE = (
    "Value AQEB for parameter ReceiptHandle is invalid. "
    "Reason: Message does not exist or is not available for visibility timeout change."
)
CAP = "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
ATTRIBUTES = {"ApproximateReceiveCount": "2", "SentTimestamp": "1800000000123"}
MESSAGE = {"MessageId": "m", "ReceiptHandle": "r", "Body": "b", "Attributes": ATTRIBUTES}
TIMED_OUT = ReadTimeoutError(endpoint_url="http://sqs")


def done(count):
    return {"Successful": [{"Id": str(index)} for index in range(count)]}


def handles(count):
    return [f"r{index}" for index in range(count)]


def outcomes(results):
    return [result.outcome for result in results]


class TestReceive:
    def test_asks_for_what_the_worker_needs(self, queues, wire):
        wire.url()
        wire.ok({"Messages": [MESSAGE]})
        (received,) = queues.receive("q", max_messages=3, wait_seconds=20)
        assert (received.receive_count, received.sent_at_ms, received.attributes) == (2, 1_800_000_000_123, {})
        asked = wire.asked[1][1]
        assert asked["MessageAttributeNames"] == ["All"]
        assert set(asked["MessageSystemAttributeNames"]) == set(ATTRIBUTES)
        assert (asked["MaxNumberOfMessages"], asked["WaitTimeSeconds"]) == (3, 20)
        assert "VisibilityTimeout" not in asked

    def test_asks_for_ten_at_most(self, queues, wire):
        wire.url()
        wire.ok({})
        assert queues.receive("q", max_messages=50, wait_seconds=0) == []
        assert wire.asked[1][1]["MaxNumberOfMessages"] == 10

    def test_keeps_text_attributes_and_leaves_binary_ones(self, queues, wire):
        attributes = {
            "correlationId": {"DataType": "String", "StringValue": "c"},
            "attempt": {"DataType": "Number", "StringValue": "2"},
            "blob": {"DataType": "Binary", "BinaryValue": "AAE="},
        }
        wire.url()
        wire.ok({"Messages": [{**MESSAGE, "MessageAttributes": attributes}]})
        (received,) = queues.receive("q", max_messages=1, wait_seconds=0)
        assert received.attributes == {"correlationId": "c", "attempt": "2"}

    @pytest.mark.parametrize(
        "message",
        [
            {**MESSAGE, "Attributes": {}},
            {**MESSAGE, "Attributes": {**ATTRIBUTES, "ApproximateReceiveCount": "many"}},
            {key: value for key, value in MESSAGE.items() if key != "ReceiptHandle"},
            {key: value for key, value in MESSAGE.items() if key != "Body"},
            {key: value for key, value in MESSAGE.items() if key != "Attributes"},
        ],
        ids=["no counts", "count is a word", "no receipt", "no body", "no attributes"],
    )
    def test_a_reply_that_is_not_sqs_s_is_one_clear_error(self, queues, wire, message):
        wire.url()
        wire.ok({"Messages": [message]})
        with pytest.raises(QueueError, match="AWS_ENDPOINT_URL") as caught:
            queues.receive("q", max_messages=1, wait_seconds=0)
        assert (caught.value.code, caught.value.retryable) == ("malformed_reply", True)

    @pytest.mark.parametrize("wrong", [{"max_messages": 0, "wait_seconds": 0}, {"max_messages": 1, "wait_seconds": 21}])
    def test_arguments_out_of_range_reach_nobody(self, queues, wire, wrong):
        with pytest.raises(ValidationError):
            queues.receive("q", **wrong)
        assert not wire.asked


class TestThrottling:
    def test_two_throttled_attempts_then_success_is_success(self, queues, wire):
        wire.url()
        wire.error("RequestThrottled")
        wire.error("RequestThrottled")
        wire.ok({"MessageId": "m"})
        assert queues.send("q", "b", attributes={}) == "m"
        assert wire.operations == ["GetQueueUrl", "SendMessage", "SendMessage", "SendMessage"]

    def test_throttling_that_lasts_is_tried_again_later(self, queues, wire):
        wire.url()
        for _ in range(3):
            wire.error("RequestThrottled")
        with pytest.raises(QueueError) as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.code, caught.value.retryable, caught.value.status) == ("RequestThrottled", True, 400)
        assert not caught.value.details["ambiguous"]

    def test_a_throttled_renewal_answers_per_entry_and_the_next_batch_is_still_renewed(self, queues, wire):
        wire.url()
        for _ in range(3):
            wire.error("RequestThrottled")
        wire.ok(done(2))
        results = queues.extend("q", [(handle, 60) for handle in handles(12)])
        assert outcomes(results) == [Outcome.TRY_AGAIN] * 10 + [Outcome.OK] * 2
        assert results[0].error.code == "RequestThrottled"


class TestBatches:
    def test_go_out_ten_at_a_time_with_their_own_seconds(self, queues, wire):
        wire.url()
        wire.ok(done(10))
        wire.ok(done(10))
        wire.ok(done(3))
        results = queues.extend("q", [(handle, index) for index, handle in enumerate(handles(23))])
        assert results == [EntryResult(handle, Outcome.OK) for handle in handles(23)]
        sent = [entry for _, asked in wire.asked[1:] for entry in asked["Entries"]]
        assert [(entry["ReceiptHandle"], entry["VisibilityTimeout"]) for entry in sent] == list(
            zip(handles(23), range(23), strict=True)
        )

    def test_nothing_to_do_asks_nobody(self, queues, wire):
        assert queues.extend("q", []) == queues.delete("q", []) == []
        assert not wire.asked

    @pytest.mark.parametrize(
        ("entry", "outcome", "code"),
        [
            ({"SenderFault": True, "Code": "ReceiptHandleIsInvalid"}, Outcome.LEASE_LOST, "ReceiptHandleIsInvalid"),
            ({"SenderFault": True, "Code": "MessageNotInflight"}, Outcome.LEASE_LOST, "MessageNotInflight"),
            (
                {"SenderFault": True, "Code": "AWS.SimpleQueueService.MessageNotInflight"},
                Outcome.LEASE_LOST,
                "MessageNotInflight",
            ),
            ({"SenderFault": True, "Code": "InvalidParameterValue", "Message": GONE}, Outcome.LEASE_LOST, None),
            ({"SenderFault": True, "Code": "InvalidParameterValue", "Message": CAP}, Outcome.REFUSED, None),
            ({"SenderFault": True, "Code": "AccessDenied"}, Outcome.REFUSED, "AccessDenied"),
            ({"SenderFault": True, "Code": "RequestThrottled"}, Outcome.TRY_AGAIN, "RequestThrottled"),
            ({"SenderFault": False, "Code": "InternalError"}, Outcome.TRY_AGAIN, "InternalError"),
            ({"SenderFault": False, "Code": "SomethingNew"}, Outcome.TRY_AGAIN, "SomethingNew"),
            ({"SenderFault": True}, Outcome.REFUSED, "unknown"),
        ],
    )
    @pytest.mark.parametrize("operation", ["extend", "delete"])
    def test_each_entry_has_its_own_outcome(self, queues, wire, operation, entry, outcome, code):
        wire.url()
        wire.ok({"Successful": [{"Id": "0"}, {"Id": "2"}], "Failed": [{"Id": "1", **entry}]})
        entries = [(handle, 60) for handle in handles(3)] if operation == "extend" else handles(3)
        results = getattr(queues, operation)("q", entries)
        assert outcomes(results) == [Outcome.OK, outcome, Outcome.OK]
        assert results[0].error is results[2].error is None
        assert results[1].error.code == (code or "InvalidParameterValue")
        assert results[1].error.retryable is (outcome is Outcome.TRY_AGAIN)

    def test_an_entry_that_the_reply_forgets_is_tried_again(self, queues, wire):
        wire.url()
        wire.ok({"Successful": [{"Id": "0"}]})
        results = queues.delete("q", handles(2))
        assert outcomes(results) == [Outcome.OK, Outcome.TRY_AGAIN]
        assert results[1].error.details["ambiguous"]

    @pytest.mark.parametrize("reply", [{"Failed": [{"Code": "x"}]}, b"<html>", {"Successful": "all"}, []])
    def test_a_reply_that_is_not_sqs_s_is_tried_again(self, queues, wire, reply):
        wire.url()
        wire.ok(reply)
        assert outcomes(queues.delete("q", handles(2))) == [Outcome.TRY_AGAIN] * 2

    def test_a_missing_permission_is_refused_for_each_entry(self, queues, wire):
        wire.url()
        wire.error("AccessDeniedException", status=403)
        results = queues.delete("q", handles(2))
        assert outcomes(results) == [Outcome.REFUSED] * 2
        assert "grant" in results[0].error.message

    def test_a_queue_that_cannot_be_looked_up_answers_per_entry_too(self, queues, wire):
        for _ in range(3):
            wire.fails(EndpointConnectionError(endpoint_url="http://sqs"))
        assert outcomes(queues.extend("q", [("r", 60)])) == [Outcome.TRY_AGAIN]


class TestSend:
    @pytest.mark.parametrize(
        ("error", "code", "ambiguous"),
        [
            (TIMED_OUT, "timeout", True),
            (EndpointConnectionError(endpoint_url="http://sqs"), "connection", False),
            (ConnectTimeoutError(endpoint_url="http://sqs"), "timeout", False),
        ],
        ids=["no answer", "no connection", "no connection in time"],
    )
    def test_says_whether_the_message_may_be_in_the_queue(self, queues, wire, error, code, ambiguous):
        wire.url()
        for _ in range(3):
            wire.fails(error)
        with pytest.raises(QueueError) as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.code, caught.value.details["ambiguous"]) == (code, ambiguous)
        assert caught.value.retryable
        assert caught.value.__cause__ is error

    def test_a_failing_service_may_have_taken_it(self, queues, wire):
        wire.url()
        for _ in range(3):
            wire.error("InternalFailure", status=500)
        with pytest.raises(QueueError) as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.status, caught.value.retryable, caught.value.details["ambiguous"]) == (500, True, True)

    def test_a_reply_without_an_id_may_have_taken_it(self, queues, wire):
        wire.url()
        wire.ok({})
        with pytest.raises(QueueError) as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.code, caught.value.details["ambiguous"]) == ("malformed_reply", True)

    def test_missing_credentials_are_not_tried_again(self, queues, wire):
        wire.fails(NoCredentialsError())
        with pytest.raises(QueueError, match="credentials") as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.code, caught.value.retryable) == ("credentials", False)

    def test_carries_attributes_as_strings_and_the_delay(self, queues, wire):
        wire.url()
        wire.ok({"MessageId": "m"})
        queues.send("q", "b", attributes={"correlationId": "c"}, delay_seconds=60)
        asked = wire.asked[1][1]
        assert asked["MessageAttributes"] == {"correlationId": {"DataType": "String", "StringValue": "c"}}
        assert asked["DelaySeconds"] == 60


class TestQueueUrl:
    def test_is_asked_for_once(self, queues, wire):
        wire.url()
        for _ in range(3):
            wire.ok({"MessageId": "m"})
            queues.send("q", "b", attributes={})
        assert wire.operations.count("GetQueueUrl") == 1
        assert wire.asked[-1][1]["QueueUrl"] == "https://sqs.example/1/q"

    def test_is_asked_for_again_after_the_queue_was_gone(self, queues, wire):
        wire.url()
        wire.error("QueueDoesNotExist", query_code="AWS.SimpleQueueService.NonExistentQueue")
        with pytest.raises(QueueError, match=r"pipeline\.toml") as caught:
            queues.send("q", "b", attributes={})
        assert (caught.value.code, caught.value.retryable) == ("QueueDoesNotExist", False)
        wire.url()
        wire.ok({"MessageId": "m"})
        assert queues.send("q", "b", attributes={}) == "m"

    @pytest.mark.parametrize("name", ["", "../q", "https://sqs/1/q-dlq/", "q" * 81, "q\n", "q.fifo", "q dlq"])
    def test_only_a_standard_queue_s_name_is_looked_up(self, queues, wire, name):
        with pytest.raises(ValidationError):
            queues.send(name, "b", attributes={})
        assert not wire.asked

    def test_a_look_up_without_a_url_is_a_malformed_reply(self, queues, wire):
        wire.ok({})
        with pytest.raises(QueueError, match="GetQueueUrl") as caught:
            queues.depth("q")
        assert caught.value.code == "malformed_reply"


class TestDeadLetterQueues:
    @pytest.mark.parametrize(
        "call",
        [
            lambda queues: queues.receive("q-dlq", max_messages=1, wait_seconds=0),
            lambda queues: queues.send("q-dlq", "b", attributes={}),
            lambda queues: queues.delete("q-dlq", ["r"]),
            lambda queues: queues.delete("q-dlq", []),
            lambda queues: queues.extend("q-dlq", [("r", 0)]),
        ],
        ids=["receive", "send", "delete", "delete nothing", "extend"],
    )
    def test_are_never_touched(self, queues, wire, call):
        """Invariant S16: refused before anything is asked."""
        with pytest.raises(PipelineStateError, match="S16") as caught:
            call(queues)
        assert caught.value.code == "dead_letter_queue"
        assert not wire.asked

    def test_may_be_counted(self, queues, wire):
        wire.url()
        counts = {"": "3", "NotVisible": "2", "Delayed": "1"}
        wire.ok({"Attributes": {f"ApproximateNumberOfMessages{name}": value for name, value in counts.items()}})
        depth = queues.depth("q-dlq")
        assert (depth.visible, depth.in_flight, depth.delayed, depth.total) == (3, 2, 1, 6)

    @pytest.mark.parametrize("attributes", [{}, {"ApproximateNumberOfMessages": "1"}])
    def test_a_count_that_is_missing_is_not_zero(self, queues, wire, attributes):
        wire.url()
        wire.ok({"Attributes": attributes})
        with pytest.raises(QueueError, match="malformed_reply"):
            queues.depth("q-dlq")


def test_long_texts_of_the_service_are_cut(queues, wire):
    wire.url()
    wire.error("InvalidParameterValue", text="x" * 5000)
    with pytest.raises(QueueError) as caught:
        queues.send("q", "b", attributes={})
    assert len(caught.value.message) < 400


def test_polls_may_have_a_client_of_their_own(stock, wire):
    """A second client object that would refuse everything shows which one polls."""
    queues = Queues(object(), polls=stock)
    queues._urls["q"] = "https://sqs.example/1/q"
    wire.ok({})
    assert queues.receive("q", max_messages=1, wait_seconds=20) == []


class TestMakeBotoClient:
    def test_sets_short_time_outs_and_few_attempts(self, stock):
        config = stock.meta.config
        assert (config.connect_timeout, config.read_timeout) == (CONNECT_TIMEOUT, READ_TIMEOUT)
        assert config.retries == {"total_max_attempts": 3, "mode": "standard"}

    def test_a_renewal_that_times_out_ends_before_the_visibility_window_does(self):
        """A lease ends a margin before its window; botocore's first pause is up to a second."""
        longest = MAX_ATTEMPTS * (CONNECT_TIMEOUT + READ_TIMEOUT) + (MAX_ATTEMPTS - 1) * 1.0
        assert longest < Timings().lease_margin.total_seconds()

    def test_without_a_region_says_what_to_set(self, monkeypatch, tmp_path):
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        with pytest.raises(SettingsError, match="AWS_REGION"):
            make_boto_client("sqs")

    def test_an_endpoint_that_is_no_url_is_a_settings_error(self):
        with pytest.raises(SettingsError, match="endpoint"):
            make_boto_client("sqs", region="eu-west-1", endpoint_url="not a url")
