"""The stock client under a virtual clock: its retries sleep, and its ids and jitter are drawn, as the caller says."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

RETRIES = ("retry_unary", "retry_streaming", "retry_base")


class _Time:
    """Stands for the `time` module inside `google.api_core.retry`."""

    def __init__(self, sleep: Callable[[float], None], monotonic: Callable[[], float]) -> None:
        self.sleep = sleep
        self.monotonic = monotonic


@contextmanager
def virtual_time(
    sleep: Callable[[float], None], monotonic: Callable[[], float], *, seed: int | str = 0
) -> Iterator[None]:
    """While it lasts, the client's retries use `sleep` and `monotonic`, and its jitter and auto ids follow `seed`.

    Process-wide: the names are replaced in `google.api_core` and `google.cloud.firestore_v1`.
    """
    clock: Any = _Time(sleep, monotonic)
    dice = random.Random(seed)
    modules = {name: importlib.import_module(f"google.api_core.retry.{name}") for name in RETRIES}
    collections = importlib.import_module("google.cloud.firestore_v1.base_collection")
    with (
        mock.patch.object(modules["retry_unary"], "time", clock),
        mock.patch.object(modules["retry_streaming"], "time", clock),
        mock.patch.object(modules["retry_base"], "time", clock),
        mock.patch.object(modules["retry_base"], "random", dice),
        mock.patch.object(collections, "system_random", dice),
    ):
        yield
