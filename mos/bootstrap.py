"""The only place where parts are joined. Nothing connects at import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from google.auth.exceptions import DefaultCredentialsError
from google.cloud import firestore

from mos.clients.aws import make_boto_client
from mos.clients.notifier import Notifier
from mos.clients.s3 import Storage
from mos.clients.sqs import Queues, connect_queues
from mos.domain.errors import SettingsError
from mos.domain.pipeline import Pipeline, parse_pipeline
from mos.domain.policy import Policy
from mos.domain.reaping import ReaperLimits
from mos.missions.base import Mission
from mos.missions.dispatch import MAX_STARTS, Dispatch
from mos.missions.reaper import Reaper
from mos.runtime import Runtime, SystemRuntime
from mos.settings import Settings, read_settings
from mos.store.gateway import Gateway
from mos.workers.handlers import load_handler

MISSIONS = ("reaper", "dispatch")
"""The missions of this release."""


def load_pipeline(settings: Settings) -> Pipeline:
    """The configured pipeline file, or the shipped one.

    Raises:
        SettingsError: it cannot be read or is not valid.
    """
    if settings.pipeline is None:
        return parse_pipeline(resources.files("mos").joinpath("pipeline.toml").read_text("utf-8"))
    try:
        text = settings.pipeline.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"MOS_PIPELINE: {settings.pipeline} cannot be read: {error}") from error
    return parse_pipeline(text, source=str(settings.pipeline))


@dataclass
class App:
    """The parts of one process, made when first used."""

    settings: Settings
    runtime: Runtime

    @cached_property
    def policy(self) -> Policy:
        """Pipeline and durations, in this deployment's time scale."""
        policy = Policy(pipeline=load_pipeline(self.settings), timings=self.settings.timings())
        return policy.scaled(self.settings.time_scale)

    @cached_property
    def firestore(self) -> firestore.Client:
        """The stock client; `FIRESTORE_EMULATOR_HOST` points it at the embedded server.

        Raises:
            SettingsError: neither an emulator nor credentials are configured.
        """
        try:
            return firestore.Client(project=self.settings.project)
        except DefaultCredentialsError as error:
            raise SettingsError(
                "GOOGLE_APPLICATION_CREDENTIALS: no usable credentials for Firestore;"
                " name a key file there, or set FIRESTORE_EMULATOR_HOST for a local stack",
                details={"field": "GOOGLE_APPLICATION_CREDENTIALS"},
            ) from error

    @cached_property
    def queues(self) -> Queues:
        """SQS."""
        return connect_queues(endpoint_url=self.settings.aws_endpoint, region=self.settings.region)

    @cached_property
    def storage(self) -> Storage:
        """S3."""
        client = make_boto_client("s3", endpoint_url=self.settings.aws_endpoint, region=self.settings.region)
        return Storage(client, self.settings.bucket)

    @cached_property
    def notifier(self) -> Notifier:
        """How people are told."""
        return Notifier(self.settings.notify_webhook)

    def reaper(self, limits: ReaperLimits | None = None, *, mission_run: str | None = None) -> Reaper:
        """One run of the reaper."""
        run_id = mission_run or self.runtime.new_id()
        return Reaper(
            client=self.firestore,
            gateway=self.gateway("reaper", run_id),
            queues=self.queues,
            notifier=self.notifier,
            policy=self.policy,
            runtime=self.runtime,
            run_id=run_id,
            limits=limits or ReaperLimits(),
        )

    def dispatch(self, max_starts: int = MAX_STARTS, *, mission_run: str | None = None) -> Dispatch:
        """One run of dispatch, of at most so many starts."""
        run_id = mission_run or self.runtime.new_id()
        return Dispatch(
            client=self.firestore,
            gateway=self.gateway("dispatch", run_id),
            queues=self.queues,
            policy=self.policy,
            runtime=self.runtime,
            run_id=run_id,
            max_starts=max_starts,
        )

    @property
    def missions(self) -> dict[str, Callable[[], Mission]]:
        """Every mission by name, to be run here and now."""
        return dict(zip(MISSIONS, (self.reaper, self.dispatch), strict=True))

    def gateway(self, actor: str, mission_run: str | None = None) -> Gateway:
        """The write gateway, for one actor."""
        return Gateway(self.firestore, self.policy, self.runtime, actor=actor, mission_run=mission_run)


def from_environment() -> App:
    """The parts, as the environment configures them.

    Raises:
        SettingsError: a setting is wrong; the message names it.
    """
    return App(read_settings(), SystemRuntime())


def check_handlers(pipeline: Pipeline) -> None:
    """Import every handler that the pipeline names.

    Raises:
        SettingsError: one of them cannot be imported; names the step.
    """
    for step in pipeline.steps.values():
        if step.handler is not None:
            load_handler(step)
