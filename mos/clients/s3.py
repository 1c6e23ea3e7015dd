"""S3, as the product uses it: whole objects, by keys that are safe as relative paths."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from mos.domain.errors import StorageError, ValidationError

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

LONGEST_KEY = 1024
"""Bytes; the service's limit."""
_PART = re.compile(r"(?!\.{1,2}$)[^\\/\x00-\x1f\x7f\ud800-\udfff]+")
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_SERVER_ERRORS = 500
_TOO_MANY = 429


def check_key(key: str) -> str:
    """The key, if it is a safe relative path.

    Raises:
        ValidationError: absolute, with `..`, empty parts, backslashes or control characters, or too long.
    """
    if not key or any(not _PART.fullmatch(part) for part in key.split("/")):
        raise ValidationError.of_field("key", f"{key[:200]!r} is not a relative path of plain names")
    if len(key.encode()) > LONGEST_KEY:
        raise ValidationError.of_field("key", f"longer than {LONGEST_KEY} bytes")
    return key


class Storage:
    """The objects of one bucket. Safe to share between threads."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, data: bytes) -> None:
        """Store an object.

        Raises:
            StorageError: it was not stored.
            ValidationError: the key is not safe.
        """
        with _errors("PutObject", key):
            self._client.put_object(Bucket=self._bucket, Key=check_key(key), Body=data)

    def upload(self, path: Path, key: str) -> None:
        """Store a file as an object, streaming.

        Raises:
            StorageError: it was not stored, or the file cannot be read.
            ValidationError: the key is not safe.
        """
        with _errors("PutObject", key), path.open("rb") as source:
            self._client.put_object(Bucket=self._bucket, Key=check_key(key), Body=source)

    def get(self, key: str) -> bytes:
        """A whole (small) object.

        Raises:
            StorageError: it could not be read; `code` is `not_found` where there is none.
            ValidationError: the key is not safe.
        """
        with _errors("GetObject", key):
            return self._client.get_object(Bucket=self._bucket, Key=check_key(key))["Body"].read()

    def download(self, key: str, path: Path) -> Path:
        """An object as a file, streaming; the file appears whole or not at all.

        Raises:
            StorageError: it could not be read or written; `code` is `not_found` where there is none.
            ValidationError: the key is not safe.
        """
        partial = path.with_name(f"{path.name}.part")
        try:
            with _errors("GetObject", key):
                body = self._client.get_object(Bucket=self._bucket, Key=check_key(key))["Body"]
                with partial.open("wb") as target:
                    shutil.copyfileobj(body, target, 1024 * 1024)
                partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def size(self, key: str) -> int | None:
        """The bytes of an object; None where there is none.

        Raises:
            StorageError: the service could not be asked.
            ValidationError: the key is not safe.
        """
        try:
            with _errors("HeadObject", key):
                return self._client.head_object(Bucket=self._bucket, Key=check_key(key))["ContentLength"]
        except StorageError as error:
            if error.code == "not_found":
                return None
            raise

    def exists(self, key: str) -> bool:
        """Whether there is an object that is not empty.

        Raises:
            StorageError: the service could not be asked.
            ValidationError: the key is not safe.
        """
        return bool(self.size(key))


def write_atomically(path: Path, data: bytes) -> Path:
    """A local file that appears whole or not at all."""
    partial = path.with_name(f"{path.name}.part")
    with partial.open("wb") as target:
        target.write(data)
        target.flush()
        os.fsync(target.fileno())
    return partial.replace(path)


@contextmanager
def _errors(operation: str, key: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise _from_answer(error, operation, key) from error
    except BotoCoreError as error:
        raise StorageError(f"{operation} {key} failed: {error}", code="connection") from error
    except OSError as error:
        code = f"errno_{error.errno}" if error.errno is not None else "io"
        raise StorageError(f"{operation} {key} failed: {error}", code=code) from error


def _from_answer(error: ClientError, operation: str, key: str) -> StorageError:
    said = error.response.get("Error", {})
    code = str(said.get("Code") or "unknown")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code in _MISSING:
        return StorageError(f"there is no object {key}", code="not_found", status=status)
    passing = status is not None and (status >= _SERVER_ERRORS or status == _TOO_MANY)
    text = f"{operation} {key} failed ({code}): {said.get('Message') or 'no reason given'}"
    return StorageError(text, code=code, status=status, retryable=passing)
