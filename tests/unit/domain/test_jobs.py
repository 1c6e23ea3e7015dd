"""A new job with its shots and all of its tasks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mos.domain.errors import ValidationError
from mos.domain.jobs import JobRequest, decide_creation, digest, task_id
from mos.domain.messages import TaskMessage
from tests.builders import NOW, policy

CHAIN = ["image_edit", "frame_expand", "video_generate", "shot_reorder", "upscale"]


def create(kind: str = "shot_video", shots: Any = None, **fields: Any) -> Any:
    given = {"s1": {"url": "a"}, "s2": {"url": "b"}} if shots is None else shots
    request = JobRequest(**({"job_id": "j", "kind": kind, "shots": given, "correlation_id": "c"} | fields))
    return decide_creation(request, now=NOW, policy=policy())


def tasks(commit: Any) -> dict[str, Any]:
    return {change.after.id: change.after for change in commit.tasks}


def test_each_shot_runs_the_chain_and_all_converge_on_render_and_delivery() -> None:
    made = tasks(create())
    assert len(made) == 2 * 5 + 2
    for before, after in itertools.pairwise(CHAIN):
        assert made[f"j.s1.{before}"].next == (f"j.s1.{after}",)
        assert made[f"j.s1.{after}"].depends_on == (f"j.s1.{before}",)
    assert made["j.s1.upscale"].next == made["j.s2.upscale"].next == ("j.render",)
    assert made["j.render"].depends_on == ("j.s1.upscale", "j.s2.upscale")
    assert (made["j.render"].next, made["j.deliver"].depends_on) == (("j.deliver",), ("j.render",))
    assert (made["j.render"].shot_id, made["j.deliver"].next) == (None, ())


def test_only_roots_are_pending_and_nothing_is_queued() -> None:
    assert [name for name, made in tasks(create()).items() if made.status == "pending"] == [
        "j.s1.image_edit",
        "j.s2.image_edit",
    ]
    assert {made.status for made in tasks(create()).values()} == {"pending", "waiting"}


def test_a_batch_of_base_clips_has_no_render() -> None:
    made = tasks(create("base_clip_batch"))
    assert len(made) == 10
    assert made["j.s1.upscale"].next == ()


def test_a_kind_without_a_chain_is_its_finish_alone() -> None:
    made = tasks(create("voice_training", {}))
    assert [(one.id, one.status) for one in made.values()] == [("j.voice_training", "pending")]


def test_the_job_is_pending_with_every_shot_pending() -> None:
    change = create(owner_id="o", calendar_entry_id="e").jobs[0]
    assert change.before is None
    assert (change.after.status, change.after.owner_id, change.after.calendar_entry_id) == ("pending", "o", "e")
    assert {name: shot.status for name, shot in change.after.shots.items()} == {"s1": "pending", "s2": "pending"}
    assert (change.after.created_at, change.after.correlation_id) == (NOW, "c")


def test_inputs_go_to_the_first_step_only() -> None:
    made = tasks(create())
    assert (made["j.s1.image_edit"].input, made["j.s1.upscale"].input) == ({"url": "a"}, {})


def test_every_id_fits_the_message_that_will_carry_it() -> None:
    for made in tasks(create(job_id="x" * 100, shots={"s" * 10: {}})).values():
        assert TaskMessage.for_task(made).task_id == made.id


def test_digests_cover_what_comes_from_upstream() -> None:
    one, other = tasks(create(shots={"s": {"url": "a"}})), tasks(create(shots={"s": {"url": "b"}}))
    same = tasks(create(shots={"t": {"url": "a"}}, job_id="k"))
    assert one["j.s.upscale"].input_digest != other["j.s.upscale"].input_digest
    assert one["j.s.upscale"].input_digest == same["k.t.upscale"].input_digest
    assert len({made.input_digest for made in one.values()}) == len(one)


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [{"c": 2, "d": 3}]}) == digest({"b": [{"d": 3, "c": 2}], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})


def test_five_hundred_tasks_are_the_most() -> None:
    assert len(create("base_clip_batch", {f"s{n}": {} for n in range(100)}).tasks) == 500
    with pytest.raises(ValidationError, match="502 tasks; a job has at most 500"):
        create("shot_video", {f"s{n}": {} for n in range(100)})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "film"}, "kind"),
        ({"shots": {}}, "shots"),
        ({"kind": "voice_training", "shots": {"s": {}}}, "shots"),
        ({"job_id": ""}, "job_id"),
        ({"job_id": "a/b"}, "job_id"),
        ({"job_id": "a\n"}, "job_id"),
        ({"job_id": "x" * 129}, "job_id"),
        ({"job_id": "x" * 120}, "job_id"),
        ({"shots": {"a.b": {}}}, "shots"),
        ({"shots": {"../x": {}}}, "shots"),
        ({"shots": {"": {}}}, "shots"),
        ({"shots": {"s\u202e": {}}}, "shots"),
        ({"shots": {"s": {"n": float("nan")}}}, "shots.s"),
        ({"shots": {"s": {"n": "\ud800"}}}, "shots.s"),
        ({"shots": {"s": {"n": NOW}}}, "shots.s"),
    ],
)
def test_a_bad_request_is_refused_by_the_name_of_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        create(**fields)
    assert caught.value.details["field"] == field


def test_a_task_id_reads_one_way_only() -> None:
    assert task_id("j", "upscale", "s") == "j.s.upscale"
    assert task_id("j", "render", None) == "j.render"
