"""What a fresh local stack needs before work can start: queues, the bucket, the production configuration.

Idempotent: a second run changes nothing. The AWS server provisions itself each
time it starts, since its state is in memory only.
"""

from __future__ import annotations

import sys

from botocore.exceptions import BotoCoreError, ClientError
from google.api_core.exceptions import AlreadyExists, GoogleAPICallError

from mos.bootstrap import App, from_environment
from mos.clients.aws import make_boto_client
from mos.domain.errors import AppError, ExternalServiceError, StateStoreError
from mos.domain.pipeline import Pipeline
from mos.local.aws.queues import QueueSpec, ensure_queues
from mos.local.aws.server import serve
from mos.settings import Settings

MAX_CONCURRENT_JOBS = 8


def queue_specs(pipeline: Pipeline) -> list[QueueSpec]:
    """The queues that a pipeline needs."""
    return [
        QueueSpec(name=step.queue, visibility_timeout=step.visibility_seconds, max_receive_count=step.max_receives)
        for step in pipeline.steps.values()
    ]


def provision_aws(settings: Settings, pipeline: Pipeline, url: str) -> None:
    """Create the queues and the bucket where they are missing.

    Raises:
        ExternalServiceError: the server did not answer.
    """
    try:
        sqs = make_boto_client("sqs", endpoint_url=url, region=settings.region)
        ensure_queues(sqs, queue_specs(pipeline))
        make_boto_client("s3", endpoint_url=url, region=settings.region).create_bucket(Bucket=settings.bucket)
    except (BotoCoreError, ClientError) as error:
        raise ExternalServiceError(f"the local AWS server did not answer: {error}", service="aws") from error


def provision_state(app: App) -> None:
    """Create `config/production` where it is missing.

    Raises:
        StateStoreError: the store did not answer.
    """
    production = app.firestore.document("config/production")
    try:
        production.create({"paused": False, "maxConcurrentJobs": MAX_CONCURRENT_JOBS, "flags": {}})
    except AlreadyExists:
        return
    except GoogleAPICallError as error:
        raise StateStoreError(f"config/production cannot be written: {error}") from error


def main() -> int:
    """`python -m mos.local.provision state`, or `aws HOST PORT` to serve AWS with everything in it."""
    try:
        app = from_environment()
        if sys.argv[1:2] == ["aws"]:
            policy = app.policy
            return serve(
                sys.argv[2], int(sys.argv[3]), provision=lambda url: provision_aws(app.settings, policy.pipeline, url)
            )
        provision_state(app)
    except AppError as error:
        sys.stderr.write(f"provision: {error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
