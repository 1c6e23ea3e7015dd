"""What a process serves is decided and imported before anything starts."""

import pytest

from mos.domain.errors import SettingsError
from mos.domain.pipeline import parse_pipeline
from mos.workers.handlers import load_handlers
from mos.workers.steps.images import image_edit

STEP = """
[steps.{name}]
queue = "q-{name}"
visibility_seconds = 300
running_ttl_seconds = 720
pickup_ttl_seconds = 1800
rerunnable = true
{handler}
"""


def pipeline(**handlers):
    steps = "".join(
        STEP.format(name=name, handler=f'handler = "{handler}"' if handler else "")
        for name, handler in handlers.items()
    )
    return parse_pipeline(steps + f'[kinds.k]\nchain = ["{next(iter(handlers))}"]\n')


def test_by_default_every_step_that_has_a_handler_is_served():
    found = load_handlers(pipeline(a="mos.workers.steps.images:image_edit", b=""))
    assert found == {"a": image_edit}


def test_only_the_wanted_steps_are_served():
    both = pipeline(a="mos.workers.steps.images:image_edit", b="mos.workers.steps.images:upscale")
    assert list(load_handlers(both, " b ,")) == ["b"]


@pytest.mark.parametrize(
    ("handlers", "wanted", "named"),
    [
        ({"a": "mos.workers.steps.images:image_edit"}, "paint", "WORKER_STEPS"),
        ({"a": ""}, "a", "WORKER_STEPS"),
        ({"a": ""}, "", "MOS_PIPELINE"),
        ({"a": "mos.nowhere:run"}, "", "mos.nowhere:run"),
        ({"a": "mos.workers.steps.images:nothing"}, "", "mos.workers.steps.images:nothing"),
        ({"a": "mos.workers.steps.images:FACTOR"}, "", "not callable"),
    ],
)
def test_what_cannot_be_served_is_named(handlers, wanted, named):
    with pytest.raises(SettingsError, match=named):
        load_handlers(pipeline(**handlers), wanted)
