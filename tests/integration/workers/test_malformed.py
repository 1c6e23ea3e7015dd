"""Malformed messages (§2.1 rule 9, §6.5): left for redrive, with an event that names the field and no other write."""

import json

import pytest

from mos.workers.outcomes import Outcome

GOOD = {"v": 1, "taskId": "j.s.edit", "jobId": "j", "stepType": "edit", "attempt": 0}


def message(**changes):
    return json.dumps({**GOOD, **changes})


def without(field):
    return json.dumps({name: value for name, value in GOOD.items() if name != field})


CASES = {
    "not JSON": ("hello", "body"),
    "half a JSON text": ('{"v": 1, "taskId": ', "body"),
    "a list": ("[1, 2]", "body"),
    "a number": ("7", "body"),
    "null": ("null", "body"),
    "1 MiB": (message(extra="x" * (1024 * 1024 - 200)), "body"),
    "10,000 deep": ("[" * 10_000 + "]" * 10_000, "body"),
    "deep in a field": ('{"taskId": ' + "[" * 9_000 + "]" * 9_000 + "}", "body"),
    "NaN": (message().replace('"attempt": 0', '"attempt": NaN'), "body"),
    "a key twice": ('{"taskId": "a", "taskId": "b"}', "taskId"),
    "no task": (without("taskId"), "taskId"),
    "no job": (without("jobId"), "jobId"),
    "no step": (without("stepType"), "stepType"),
    "an extra field": (message(run="rm -rf"), "run"),
    "another version": (message(v=2), "v"),
    "a task id of the wrong type": (message(taskId=7), "taskId"),
    "a null task id": (message(taskId=None), "taskId"),
    "a path as task id": (message(taskId="../../etc/passwd"), "taskId"),
    "a slash in an id": (message(jobId="a/b"), "jobId"),
    "a reserved id": (message(taskId="__x__"), "taskId"),
    "a dot as id": (message(taskId=".."), "taskId"),
    "an empty id": (message(taskId=""), "taskId"),
    "a null byte": (message(taskId="a\x00b"), "taskId"),
    "a lone surrogate": ('{"v":1,"taskId":"\\ud800","jobId":"j","stepType":"edit","attempt":0}', "taskId"),
    "right to left": (message(taskId="a\u202eb"), "taskId"),
    "a newline at the end": (message(taskId="j.s.edit\n"), "taskId"),
    "an unknown step": (message(stepType="paint"), "stepType"),
    "another queue's step": (message(stepType="join"), "stepType"),
    "a negative attempt": (message(attempt=-1), "attempt"),
    "an attempt of 2^63": (message(attempt=2**63), "attempt"),
    "a huge attempt": (message().replace('"attempt": 0', '"attempt": 1' + "0" * 5000), "body"),
    "an attempt as text": (message(attempt="0"), "attempt"),
    "an attempt as a fraction": (message(attempt=0.5), "attempt"),
    "an attempt as truth": (message(attempt=True), "attempt"),
    "a hostile field name": (json.dumps({**GOOD, "\x1b[2J\r\nadmin": 1}), "admin"),
}


@pytest.mark.parametrize("case", CASES)
def test_it_stays_for_redrive_and_its_event_names_the_field(world, actor, case):
    body, field = CASES[case]
    world.submit("j", "chain", {"s": {"n": 1}})
    world.sqs.drop("q-edit", world.sqs.peek("q-edit")[0].message_id)
    world.queues.send("q-edit", body, attributes={})
    before, objects = world.snapshot(), []
    world.io = lambda site, do: objects.append(site) or do() if site.startswith("s3") else do()
    assert actor().poll("edit") == [Outcome.MALFORMED]
    (left,) = world.sqs.peek("q-edit")
    assert (left.body, left.receive_count) == (body, 1)
    (event,) = world.documents("jobErrorEvents")
    assert (event["code"], event["jobId"]) == ("malformed", "")
    assert field in event["details"]["field"]
    assert world.snapshot() == before
    assert objects == []


def test_after_its_last_receive_it_is_in_the_dead_letters_with_one_event(world, actor):
    world.queues.send("q-edit", "hello", attributes={"correlationId": "cor"})
    worker = actor()
    for _ in range(4):
        worker.poll("edit")
        world.runtime.sleep(301)
    assert worker.outcomes == [Outcome.MALFORMED] * 3
    assert [message.body for message in world.sqs.peek("q-edit-dlq")] == ["hello"]
    (event,) = world.documents("jobErrorEvents")
    assert event["correlationId"] == "cor"


def test_an_event_that_cannot_be_written_breaks_nobody(world, actor):
    world.queues.send("q-edit", "hello", attributes={})
    world.submit("j", "chain", {"s": {"n": 1}})

    def refuse(site, do):
        if site == "firestore.Commit" and not world.documents("jobErrorEvents") and len(world.tasks()) == 2 and broken:
            broken.pop()
            raise OSError("the wire is cut")
        return do()

    broken = [True]
    world.io = refuse
    assert sorted(actor().poll("edit")) == [Outcome.COMPLETED, Outcome.MALFORMED]
