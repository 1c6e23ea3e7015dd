"""Pages of listings: the token is the last key that was given."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from mos.local.firestore.errors import invalid

DEFAULT_PAGE = 300


def page_token(key: bytes) -> str:
    """The token that continues behind `key`."""
    return base64.urlsafe_b64encode(key).decode()


def token_key(token: str) -> bytes:
    """The key that a token continues behind.

    Raises:
        Refused: INVALID_ARGUMENT for what is no token of this server.
    """
    try:
        return base64.urlsafe_b64decode(token.encode())
    except (binascii.Error, ValueError) as error:
        raise invalid("Invalid page token.") from error


def page(ordered: Sequence[str], request: Any) -> tuple[Sequence[str], bool]:
    """One page of sorted ids, and whether there are more."""
    if request.page_size < 0:
        raise invalid("The page size cannot be negative.")
    if request.page_token:
        last = token_key(request.page_token).decode(errors="replace")
        ordered = [item for item in ordered if item > last]
    size = request.page_size or DEFAULT_PAGE
    return ordered[:size], len(ordered) > size
