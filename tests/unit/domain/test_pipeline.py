"""A pipeline file is checked as a whole, and an error names its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import mos
from mos.domain.errors import SettingsError
from mos.domain.pipeline import parse_pipeline
from tests.builders import shipped

STEP = """
[steps.upscale]
queue = "q-upscale"
visibility_seconds = 300
running_ttl_seconds = 900
pickup_ttl_seconds = 1800
rerunnable = true
"""
KIND = '[kinds.k]\nchain = ["upscale"]\n'


def refused(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        parse_pipeline(text, source="p.toml")
    assert str(caught.value).startswith("p.toml")
    return str(caught.value)


def test_a_small_pipeline_is_enough() -> None:
    pipeline = parse_pipeline(STEP + KIND)
    step = pipeline.step("upscale")
    assert (step.max_receives, step.max_failures, step.messages_only, step.handler) == (3, 3, False, None)
    assert step.dead_letter_queue == "q-upscale-dlq"
    assert pipeline.kinds["k"].chain == ("upscale",)


@pytest.mark.parametrize(
    ("step", "visibility", "running", "pickup", "receives", "rerunnable"),
    [
        ("image_edit", 5, 12, 30, 3, True),
        ("frame_expand", 5, 12, 30, 3, True),
        ("video_generate", 30, 40, 60, 3, True),
        ("shot_reorder", 2, 8, 30, 3, True),
        ("upscale", 5, 15, 30, 3, True),
        ("voice_training", 5, 360, 120, 8, True),
        ("render", 5, 10, 10, 3, False),
        ("deliver", 5, 20, 10, 3, False),
        ("render_poll", 5, None, None, 3, False),
    ],
)
def test_the_shipped_pipeline_has_the_documented_minutes(
    step: str, visibility: int, running: int | None, pickup: int | None, receives: int, rerunnable: bool
) -> None:
    spec = shipped().step(step)
    minutes = [None if value is None else value / 60 for value in (spec.running_ttl_seconds, spec.pickup_ttl_seconds)]
    assert (spec.visibility_seconds / 60, *minutes) == (visibility, running, pickup)
    assert (spec.max_receives, spec.rerunnable) == (receives, rerunnable)


def test_only_voice_training_may_fail_eight_times_and_only_polls_are_never_tasks() -> None:
    steps = shipped().steps.values()
    assert {step.name: step.max_failures for step in steps if step.max_failures != 3} == {"voice_training": 8}
    assert [step.name for step in steps if step.messages_only] == ["render_poll"]


def test_the_reaper_owns_what_can_be_run_again_and_nothing_else() -> None:
    owned = {step.name for step in shipped().reaped}
    assert owned == {"image_edit", "frame_expand", "video_generate", "shot_reorder", "upscale", "voice_training"}


def test_the_packaged_file_is_the_one_at_the_root() -> None:
    packaged = Path(mos.__file__).parent / "pipeline.toml"
    root = packaged.parent.parent / "pipeline.toml"
    assert root.read_text("utf-8") == packaged.read_text("utf-8")


@pytest.mark.parametrize("text", ["", "x = 1", "steps = 3", "[steps]"])
def test_without_steps_there_is_no_pipeline(text: str) -> None:
    assert "[steps.NAME]" in refused(text)


def test_what_is_not_toml_is_refused_with_its_line() -> None:
    assert "line 2" in refused("[steps]\n= 1")


def test_names_are_unique() -> None:
    assert "not valid TOML" in refused(STEP + STEP)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("running_ttl_seconds = 900", "running_ttl_seconds = 300", "running_ttl_seconds (300) must be greater than"),
        ("running_ttl_seconds = 900", "", "are needed, unless messages_only"),
        ("pickup_ttl_seconds = 1800", "", "are needed, unless messages_only"),
        ("pickup_ttl_seconds = 1800", "pickup_ttl_seconds = 0", "pickup_ttl_seconds"),
        ("visibility_seconds = 300", "visibility_seconds = 0", "visibility_seconds"),
        ("visibility_seconds = 300", "visibility_seconds = 43201", "visibility_seconds"),
        ("visibility_seconds = 300", "visibility_seconds = true", "visibility_seconds"),
        ("visibility_seconds = 300", 'visibility_seconds = "300"', "visibility_seconds"),
        ("visibility_seconds = 300", "visibility_seconds = 300.0", "visibility_seconds"),
        ("visibility_seconds = 300", "", "visibility_seconds"),
        ("rerunnable = true", "", "rerunnable"),
        ("rerunnable = true", 'rerunnable = "yes"', "rerunnable"),
        ("rerunnable = true", "rerunnable = false", "only render and deliver have a recovery of their own"),
        ("rerunnable = true", "rerunnable = true\nmessages_only = true", "such messages have a recovery"),
        ("rerunnable = true", "rerunnable = true\nretries = 4", "retries"),
        ("rerunnable = true", 'rerunnable = true\nhandler = "no_colon"', "handler"),
        ("rerunnable = true", 'rerunnable = true\nhandler = "os; rm:x"', "handler"),
        ("rerunnable = true", "rerunnable = true\nmax_receives = 0", "max_receives"),
        ("rerunnable = true", "rerunnable = true\nmax_failures = 0", "max_failures"),
        ('queue = "q-upscale"', 'queue = "q/upscale"', "queue"),
        ('queue = "q-upscale"', f'queue = "{"q" * 76}"', "queue"),
        ('queue = "q-upscale"', 'queue = "q-dlq"', "never worked from"),
        ("[steps.upscale]", '[steps."Up Scale"]', "name"),
    ],
)
def test_a_bad_step_is_refused_by_name(old: str, new: str, says: str) -> None:
    text = (STEP + KIND).replace(old, new)
    assert text != STEP + KIND
    message = refused(text)
    assert says in message
    assert "steps." in message


@pytest.mark.parametrize("name", ["render", "deliver"])
def test_render_and_delivery_are_never_the_reapers(name: str) -> None:
    assert "such messages have a recovery of their own" in refused(STEP.replace("upscale", name))


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ('[kinds.k]\nchain = ["upscale", "upscale"]', "has a cycle: upscale follows itself"),
        ('[kinds.k]\nchain = ["upscale"]\nfinish = ["upscale"]', "has a cycle"),
        ("[kinds.k]", "needs at least one step"),
        ('[kinds.k]\nchain = ["grade"]', "unknown step grade"),
        ('[kinds.k]\nchain = ["poll"]', "never tasks"),
        ('[kinds.k]\nchain = ["upscale"]\nlimit = 3', "limit"),
    ],
)
def test_a_bad_kind_is_refused(kinds: str, says: str) -> None:
    poll = '[steps.poll]\nqueue = "p"\nvisibility_seconds = 30\nrerunnable = false\nmessages_only = true\n'
    assert says in refused(STEP + poll + kinds)


def test_two_steps_do_not_share_a_queue() -> None:
    assert "share the queue q-upscale" in refused(STEP + STEP.replace("steps.upscale", "steps.other"))


def test_a_step_that_is_not_declared_is_named_with_those_that_are() -> None:
    with pytest.raises(SettingsError, match="unknown step 'grade': the pipeline has upscale"):
        parse_pipeline(STEP + KIND).step("grade")
