"""gRPC errors made by hand: what a stock client accepts as one, including its logging interceptor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import grpc


class InjectedError(grpc.RpcError, grpc.Call, grpc.Future):  # type: ignore[misc]
    """An RPC that ended with this status: an error, its call and its future in one."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self._code = code
        self._details = details

    def code(self) -> grpc.StatusCode:
        """The status."""
        return self._code

    def details(self) -> str:
        """The status's text."""
        return self._details

    def result(self, timeout: float | None = None) -> NoReturn:  # noqa: ARG002 - grpc's signature
        """Raises this error."""
        raise self

    def exception(self, timeout: float | None = None) -> InjectedError:  # noqa: ARG002 - grpc's signature
        """This error."""
        return self

    def traceback(self, timeout: float | None = None) -> Any:  # noqa: ARG002 - grpc's signature
        """Where it was raised."""
        return self.__traceback__

    def initial_metadata(self) -> Sequence[Any]:
        """None."""
        return ()

    def trailing_metadata(self) -> Sequence[Any]:
        """None."""
        return ()

    def is_active(self) -> bool:
        """It is over."""
        return False

    def time_remaining(self) -> None:
        """No deadline."""
        return

    def cancel(self) -> bool:
        """Too late."""
        return False

    def cancelled(self) -> bool:
        """It was not."""
        return False

    def running(self) -> bool:
        """It is over."""
        return False

    def done(self) -> bool:
        """It is."""
        return True

    def add_callback(self, callback: Callable[[], None]) -> bool:  # noqa: ARG002 - grpc's signature
        """Too late."""
        return False

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """Calls at once."""
        fn(self)


def grpc_error(code: grpc.StatusCode | str, details: str = "injected") -> InjectedError:
    """The error that a client sees for a status (`grpc.StatusCode` or its name, such as `"UNAVAILABLE"`)."""
    return InjectedError(grpc.StatusCode[code] if isinstance(code, str) else code, details)
