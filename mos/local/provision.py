"""What a fresh local stack needs before work can start: queues, the bucket, the production configuration.

Idempotent: a second run changes nothing. `python -m mos.local.provision`.
"""

from __future__ import annotations

import sys

from botocore.exceptions import BotoCoreError, ClientError
from google.api_core.exceptions import AlreadyExists

from mos.bootstrap import App, from_environment
from mos.clients.aws import make_boto_client
from mos.domain.errors import AppError, ExternalServiceError
from mos.domain.pipeline import Pipeline
from mos.local.aws.queues import QueueSpec, ensure_queues

MAX_CONCURRENT_JOBS = 8


def queue_specs(pipeline: Pipeline) -> list[QueueSpec]:
    """The queues that a pipeline needs."""
    return [
        QueueSpec(name=step.queue, visibility_timeout=step.visibility_seconds, max_receive_count=step.max_receives)
        for step in pipeline.steps.values()
    ]


def provision(app: App) -> None:
    """Create what is missing.

    Raises:
        ExternalServiceError: AWS cannot be reached.
    """
    settings = app.settings
    try:
        sqs = make_boto_client("sqs", endpoint_url=settings.aws_endpoint, region=settings.region)
        ensure_queues(sqs, queue_specs(app.policy.pipeline))
        make_boto_client("s3", endpoint_url=settings.aws_endpoint, region=settings.region).create_bucket(
            Bucket=settings.bucket
        )
    except (BotoCoreError, ClientError) as error:
        raise ExternalServiceError(f"the local AWS server did not answer: {error}", service="aws") from error
    production = app.firestore.document("config/production")
    try:
        production.create({"paused": False, "maxConcurrentJobs": MAX_CONCURRENT_JOBS, "flags": {}})
    except AlreadyExists:
        return


def main() -> int:
    """Provision as the environment says."""
    try:
        provision(from_environment())
    except AppError as error:
        sys.stderr.write(f"provision: {error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
