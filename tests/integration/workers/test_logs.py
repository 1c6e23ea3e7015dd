"""Every line that is written while a message is handled carries its correlation id (§1.7), as one line of JSON."""

import io
import json

from mos import logs
from mos.domain.errors import VeoError
from mos.local.simulation.actor import writes


def lines_of(act):
    stream = io.StringIO()
    logs.configure("worker", stream=stream)
    act()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_all_lines_of_an_item_carry_its_correlation_id_and_no_other_line_does(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})
    worker = actor(edit=writes(b"x", lambda context: context.log.info("inside")))
    lines = lines_of(lambda: worker.poll("edit"))
    assert {"inside", "claimed", "handled"} <= {line["event"] for line in lines}
    assert {line.get("correlationId") for line in lines} == {"cor-j"}
    assert {line["service"] for line in lines} == {"worker"}
    (after,) = lines_of(lambda: logs.logger("x").info("later"))
    assert "correlationId" not in after


def test_a_message_without_a_correlation_id_gets_one_at_first_receipt(world, actor):
    world.queues.send("q-edit", "hello", attributes={})
    lines = lines_of(lambda: actor().poll("edit"))
    ids = {line["correlationId"] for line in lines}
    assert len(ids) == 1
    assert ids == {event["correlationId"] for event in world.documents("jobErrorEvents")}


def test_a_hostile_text_cannot_forge_a_line(world, actor):
    world.submit("j", "chain", {"s": {"n": 1}})

    def work(_):
        raise VeoError('boom\n{"event": "forged"}\x1b[2J')

    lines = lines_of(lambda: actor(edit=writes(b"x", work)).poll("edit"))
    assert "forged" not in {line["event"] for line in lines}
    assert not [line for line in lines if "\x1b" in json.dumps(line)]
