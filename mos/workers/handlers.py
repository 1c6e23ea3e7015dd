"""The handlers that this process serves: imported and checked before anything starts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from mos.domain.errors import SettingsError
from mos.domain.pipeline import Pipeline, StepSpec
from mos.workers.context import Handler


def load_handlers(pipeline: Pipeline, wanted: str = "") -> Mapping[str, Handler]:
    """The handler of each step to serve. `wanted` names steps, separated by commas; empty means all that have one.

    Raises:
        SettingsError: an unknown step, a step without handler, or a handler that cannot be imported.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    unknown = [name for name in names if name not in pipeline.steps]
    if unknown:
        known = ", ".join(pipeline.steps)
        raise _bad(f"unknown step {unknown[0]!r}: the pipeline has {known}", "WORKER_STEPS")
    specs = [pipeline.steps[name] for name in names] or [s for s in pipeline.steps.values() if s.handler]
    if not specs:
        raise _bad("the pipeline declares no step with a handler", "MOS_PIPELINE")
    return {spec.name: load_handler(spec) for spec in specs}


def load_handler(spec: StepSpec) -> Handler:
    """The callable that a step names.

    Raises:
        SettingsError: it names none, or it cannot be imported.
    """
    if spec.handler is None:
        raise _bad(f"step {spec.name} has no handler in the pipeline file, so no worker can serve it", "WORKER_STEPS")
    module, _, name = spec.handler.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise _bad(f"the handler {spec.handler} of step {spec.name} cannot be imported: {error}", "pipeline") from error
    if not callable(found):
        raise _bad(f"the handler {spec.handler} of step {spec.name} is not callable", "pipeline")
    handler: Handler = found
    return handler


def _bad(problem: str, field: str) -> SettingsError:
    return SettingsError(f"{field}: {problem}", details={"field": field})
