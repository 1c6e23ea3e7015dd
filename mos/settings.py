"""The settings of one process, read once from the environment and checked as a whole.

A process refuses to start on a bad one and says which. The table in
`docs/settings.md` is tested against this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pydantic
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from mos.domain.errors import SettingsError
from mos.domain.timings import Timings


class Settings(BaseSettings):
    """Everything that the environment decides. The description of a field is its documentation."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", case_sensitive=True, populate_by_name=True)

    project: str = Field("mos-local", alias="MOS_PROJECT", description="Firestore project", min_length=1)
    bucket: str = Field("mos-media", alias="MOS_BUCKET", description="S3 bucket of inputs and results", min_length=3)
    pipeline: Path | None = Field(None, alias="MOS_PIPELINE", description="pipeline file; the shipped one by default")
    time_scale: float = Field(
        1.0, alias="MOS_TIME_SCALE", description="multiplies every duration of the rules (demo: 1/60)", gt=0, le=1
    )
    region: str = Field("us-east-1", alias="AWS_REGION", description="AWS region", min_length=1)
    aws_endpoint: str | None = Field(None, alias="AWS_ENDPOINT_URL", description="AWS endpoint; AWS itself by default")

    visibility_seconds: int = Field(
        300, alias="SQS_VISIBILITY_TIMEOUT_SECONDS", description="visibility window of a message", ge=10, le=43_200
    )
    heartbeat_ms: int = Field(
        60_000,
        alias="SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS",
        description="how often windows and leases are renewed",
        gt=0,
    )
    retry_base_seconds: int = Field(
        30, alias="SQS_RETRY_VISIBILITY_BASE_SECONDS", description="delay after the first failure", gt=0, le=43_200
    )
    retry_max_seconds: int = Field(
        900, alias="SQS_RETRY_VISIBILITY_MAX_SECONDS", description="longest delay between attempts", gt=0, le=43_200
    )
    retry_jitter: float = Field(
        0.0, alias="SQS_RETRY_JITTER", description="share of a delay that is added at random", ge=0, le=1
    )
    concurrency: int = Field(2, alias="WORKER_CONCURRENCY", description="tasks at once in one worker", ge=1, le=100)
    drain_seconds: float = Field(
        20.0, alias="WORKER_DRAIN_SECONDS", description="how long running work may finish after SIGTERM", ge=0, le=110
    )
    steps: str = Field(
        "",
        alias="WORKER_STEPS",
        description="steps this worker serves, separated by commas; all with a handler by default",
    )
    notify_webhook: str | None = Field(
        None, alias="MOS_NOTIFY_WEBHOOK_URL", description="webhook for notifications; without one they are only logged"
    )
    scratch: Path = Field(Path(".mos/scratch"), alias="MOS_SCRATCH", description="where work files are written")
    liveness_file: Path | None = Field(
        None, alias="WORKER_LIVENESS_FILE", description="file touched at each heartbeat, for a container health check"
    )
    step_seconds: float = Field(
        0.0, alias="WORKER_STEP_SECONDS", description="demo only: stretches each step, so that faults can hit it", ge=0
    )
    long_poll_seconds: int = Field(
        20, alias="SQS_LONG_POLL_SECONDS", description="how long a receive waits", ge=0, le=20
    )

    def timings(self) -> Timings:
        """The durations of the rules, with their relations checked.

        Raises:
            SettingsError: for example a heartbeat that is not shorter than the window.
        """
        return Timings(
            visibility=timedelta(seconds=self.visibility_seconds),
            heartbeat=timedelta(milliseconds=self.heartbeat_ms),
            retry_base=timedelta(seconds=self.retry_base_seconds),
            retry_max=timedelta(seconds=self.retry_max_seconds),
        )

    def warnings(self) -> tuple[str, ...]:
        """What is allowed and unwise, for the log at start."""
        if self.heartbeat_ms * 2 <= self.visibility_seconds * 1000:
            return ()
        text = f"SQS_VISIBILITY_HEARTBEAT_INTERVAL_MS: {self.heartbeat_ms} ms is above half of the window "
        return (f"{text}({self.visibility_seconds} s): one slow renewal loses the lease",)


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; `environment` replaces the real one in tests.

    Raises:
        SettingsError: names the variable and what is wrong with it.
    """
    try:
        settings = Settings() if environment is None else Settings.model_validate(dict(environment))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        raise SettingsError(f"{name}: {first['msg']} (got {first['input']!r})", details={"field": name}) from error
    settings.timings()
    return settings
