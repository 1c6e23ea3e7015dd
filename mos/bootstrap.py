"""The only place where parts are joined. Nothing connects at import."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from google.cloud import firestore

from mos.clients.aws import make_boto_client
from mos.clients.s3 import Storage
from mos.clients.sqs import Queues
from mos.domain.errors import SettingsError
from mos.domain.pipeline import Pipeline, parse_pipeline
from mos.domain.policy import Policy
from mos.runtime import Runtime, SystemRuntime
from mos.settings import Settings, read_settings
from mos.store.gateway import Gateway


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
        """The stock client; `FIRESTORE_EMULATOR_HOST` points it at the embedded server."""
        return firestore.Client(project=self.settings.project)

    @cached_property
    def queues(self) -> Queues:
        """SQS."""
        return Queues(make_boto_client("sqs", endpoint_url=self.settings.aws_endpoint, region=self.settings.region))

    @cached_property
    def storage(self) -> Storage:
        """S3."""
        client = make_boto_client("s3", endpoint_url=self.settings.aws_endpoint, region=self.settings.region)
        return Storage(client, self.settings.bucket)

    def gateway(self, actor: str, mission_run: str | None = None) -> Gateway:
        """The write gateway, for one actor."""
        return Gateway(self.firestore, self.policy, self.runtime, actor=actor, mission_run=mission_run)


def from_environment() -> App:
    """The parts, as the environment configures them.

    Raises:
        SettingsError: a setting is wrong; the message names it.
    """
    return App(read_settings(), SystemRuntime())
