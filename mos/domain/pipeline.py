"""The pipeline as data: steps, their queues and times-to-live, and the kinds of job (§2.3).

`parse_pipeline` turns the text of a `pipeline.toml` into a checked value, or
says which line of it is wrong. Whether the handlers import is checked by the
process that needs them (`mos.bootstrap`), since importing is not pure.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

import pydantic
from pydantic import BaseModel, ConfigDict, Field, model_validator

from mos.domain.errors import SettingsError
from mos.domain.timings import SHORTEST_WINDOW

QUEUE_NAME = r"^[A-Za-z0-9_-]{1,75}$"
HANDLER_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
DEAD_LETTERS = "-dlq"
OWN_RECOVERY = frozenset({"render", "deliver"})
"""Steps that render-recovery owns; every other step that is a task belongs to the reaper (§3.1)."""
Whole = Annotated[int, Field(strict=True)]
Seconds = Annotated[Whole, Field(gt=0, le=43_200 * 4)]
Flag = Annotated[bool, Field(strict=True)]


class StepSpec(BaseModel):
    """One step. Durations are seconds in the file, `timedelta` through the properties."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    queue: str = Field(pattern=QUEUE_NAME)
    visibility_seconds: Whole = Field(gt=0, le=43_200)
    running_ttl_seconds: Seconds | None = None
    pickup_ttl_seconds: Seconds | None = None
    max_receives: Whole = Field(default=3, ge=1, le=1000)
    max_failures: Whole = Field(default=3, ge=1)
    rerunnable: Flag
    messages_only: Flag = False
    handler: str | None = Field(default=None, pattern=HANDLER_NAME)

    @model_validator(mode="after")
    def _ttl_above_visibility(self) -> StepSpec:
        if self.running_ttl_seconds is not None and self.running_ttl_seconds <= self.visibility_seconds:
            raise ValueError(
                f"running_ttl_seconds ({self.running_ttl_seconds}) must be greater than "
                f"visibility_seconds ({self.visibility_seconds})"
            )
        if not self.messages_only and (self.running_ttl_seconds is None or self.pickup_ttl_seconds is None):
            raise ValueError("running_ttl_seconds and pickup_ttl_seconds are needed, unless messages_only = true")
        return self

    @model_validator(mode="after")
    def _one_owner(self) -> StepSpec:
        """A task that no mission looks after would be silence."""
        if self.rerunnable and (self.messages_only or self.name in OWN_RECOVERY):
            raise ValueError("rerunnable must be false: such messages have a recovery of their own")
        if not self.rerunnable and not self.messages_only and self.name not in OWN_RECOVERY:
            raise ValueError("rerunnable must be true: only render and deliver have a recovery of their own")
        return self

    @model_validator(mode="after")
    def _no_dead_letters(self) -> StepSpec:
        if self.queue.endswith(DEAD_LETTERS):
            raise ValueError(f"queue {self.queue}: a dead-letter queue is never worked from")
        return self

    @property
    def dead_letter_queue(self) -> str:
        """The queue that the redrive policy moves poison to. Only its depth is ever read."""
        return f"{self.queue}{DEAD_LETTERS}"

    @property
    def visibility(self) -> timedelta:
        return timedelta(seconds=self.visibility_seconds)

    @property
    def running_ttl(self) -> timedelta:
        return timedelta(seconds=self.running_ttl_seconds or 0)

    @property
    def pickup_ttl(self) -> timedelta:
        return timedelta(seconds=self.pickup_ttl_seconds or 0)


class KindSpec(BaseModel):
    """What a job of one kind is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chain: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _no_cycle(self) -> KindSpec:
        steps = self.chain + self.finish
        if not steps:
            raise ValueError("needs at least one step in chain or finish")
        twice = {step for step in steps if steps.count(step) > 1}
        if twice:
            raise ValueError(f"has a cycle: {', '.join(sorted(twice))} follows itself")
        return self


class Pipeline(BaseModel):
    """All steps and kinds of one deployment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: dict[str, StepSpec]
    kinds: dict[str, KindSpec]

    @model_validator(mode="after")
    def _consistent(self) -> Pipeline:
        queues = [step.queue for step in self.steps.values()]
        shared = sorted({queue for queue in queues if queues.count(queue) > 1})
        if shared:
            raise ValueError(f"two steps share the queue {shared[0]}: every step needs its own")
        for name, kind in self.kinds.items():
            for step in kind.chain + kind.finish:
                if step not in self.steps:
                    raise ValueError(f"kind {name} names the unknown step {step}")
                if self.steps[step].messages_only:
                    raise ValueError(f"kind {name} names {step}, whose messages are never tasks")
        return self

    def step(self, name: str) -> StepSpec:
        """The step of that name.

        Raises:
            SettingsError: there is none.
        """
        try:
            return self.steps[name]
        except KeyError:
            known = ", ".join(self.steps)
            raise SettingsError(f"unknown step {name!r}: the pipeline has {known}") from None

    @property
    def reaped(self) -> tuple[StepSpec, ...]:
        """The steps that belong to the reaper (§3.1)."""
        return tuple(step for step in self.steps.values() if step.rerunnable)

    def scaled(self, scale: float) -> Pipeline:
        """Times-to-live scaled for the demo; whole seconds, and windows that keep their shortest lease (§5.3)."""
        if scale == 1:
            return self
        steps = {name: _scaled_step(step, scale) for name, step in self.steps.items()}
        return Pipeline(steps=steps, kinds=self.kinds)


def _scaled_step(step: StepSpec, scale: float) -> StepSpec:
    visibility = max(SHORTEST_WINDOW, round(step.visibility_seconds * scale))
    return step.model_copy(
        update={
            "visibility_seconds": visibility,
            "running_ttl_seconds": step.running_ttl_seconds
            and max(visibility + 2, round(step.running_ttl_seconds * scale)),
            "pickup_ttl_seconds": step.pickup_ttl_seconds and max(5, round(step.pickup_ttl_seconds * scale)),
        }
    )


def parse_pipeline(text: str, *, source: str = "pipeline.toml") -> Pipeline:
    """A checked pipeline.

    Raises:
        SettingsError: the text is not TOML, or a rule of §2.3 is broken; the message names the place.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source} is not valid TOML: {error}") from error
    steps = raw.get("steps")
    if not isinstance(steps, Mapping) or not steps:
        raise SettingsError(f"{source} declares no steps: add a [steps.NAME] table")
    named = {name: {"name": name, **body} if isinstance(body, Mapping) else body for name, body in steps.items()}
    try:
        return Pipeline.model_validate({**raw, "steps": named, "kinds": raw.get("kinds", {})})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{source}: {place + ': ' if place else ''}{problem}", details={"field": place}) from error
