"""How a boto3 client is built: its own session, short time-outs, few attempts.

Each call has a deadline of its own, so that one slow call cannot starve the
others: at most `max_attempts` times (connect + read time-out) plus the
back-off of botocore's `standard` mode (under a second for two attempts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from mos.domain.errors import SettingsError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client
    from types_boto3_sqs.client import SQSClient

CONNECT_TIMEOUT = 2.0
"""Seconds; an endpoint in the same region answers in milliseconds."""
READ_TIMEOUT = 4.0
"""Seconds between bytes of an answer."""
MAX_ATTEMPTS = 2
"""Two attempts with their pause end within the 15 s by which a lease ends before its visibility window."""
POOL_CONNECTIONS = 16


@overload
def make_boto_client(
    service: Literal["sqs"],
    *,
    endpoint_url: str | None = ...,
    region: str | None = ...,
    connect_timeout: float = ...,
    read_timeout: float = ...,
    max_attempts: int = ...,
) -> SQSClient: ...
@overload
def make_boto_client(
    service: Literal["s3"],
    *,
    endpoint_url: str | None = ...,
    region: str | None = ...,
    connect_timeout: float = ...,
    read_timeout: float = ...,
    max_attempts: int = ...,
) -> S3Client: ...
@overload
def make_boto_client(
    service: str,
    *,
    endpoint_url: str | None = ...,
    region: str | None = ...,
    connect_timeout: float = ...,
    read_timeout: float = ...,
    max_attempts: int = ...,
) -> Any: ...
def make_boto_client(
    service: str,
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    connect_timeout: float = CONNECT_TIMEOUT,
    read_timeout: float = READ_TIMEOUT,
    max_attempts: int = MAX_ATTEMPTS,
) -> Any:
    """A thread-safe client from a session of its own (sessions are not thread-safe).

    Times are seconds. `endpoint_url` and `region` fall back to the environment
    (`AWS_ENDPOINT_URL`, `AWS_REGION`/`AWS_DEFAULT_REGION`). Nothing connects here.

    Raises:
        SettingsError: no region, or an endpoint that is no URL.
    """
    config = Config(
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        retries={"total_max_attempts": max_attempts, "mode": "standard"},
        max_pool_connections=POOL_CONNECTIONS,
        tcp_keepalive=True,
    )
    session = boto3.session.Session()
    try:
        return session.client(service, endpoint_url=endpoint_url, region_name=region, config=config)  # type: ignore[call-overload]
    except (BotoCoreError, ValueError) as error:
        raise SettingsError(
            f"no {service} client can be built: {error}. Set AWS_REGION and, for a local stack, AWS_ENDPOINT_URL.",
            details={"field": "AWS_REGION"},
        ) from error
