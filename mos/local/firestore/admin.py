"""Looking after a running server from another process: statistics, faults, export, import, reset, health."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import grpc

from mos.local.firestore.admin_rpc import HEALTH, SERVICE, SERVING
from mos.local.firestore.testing import UNLIMITED

TIMEOUT_SECONDS = 30.0
PAGE = 2000


class AdminError(Exception):
    """The server cannot be reached or refuses; the text says what to do."""


class Admin:
    """The admin service of one server.

    Args:
        address: `host:port`, as the server announces it.
    """

    def __init__(self, channel: grpc.Channel, address: str) -> None:
        self._channel = channel
        self._address = address

    def ask(self, method: str, question: Mapping[str, Any] | None = None) -> Any:
        """One admin call.

        Raises:
            AdminError: no server answers there, or it refuses.
        """
        raw = json.dumps(question or {}).encode()
        return json.loads(self._call(f"/{SERVICE}/{method}", raw))

    def _call(self, path: str, raw: bytes) -> bytes:
        try:
            answer: bytes = self._channel.unary_unary(path)(raw, timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNIMPLEMENTED}:
                raise AdminError(
                    f"No embedded Firestore server answers on {self._address}: start one, or correct the address."
                ) from error
            raise AdminError(f"The Firestore server refused: {error.details()}") from error
        return answer

    def stats(self) -> dict[str, Any]:
        """Documents, transactions, billed usage per caller, faults that struck."""
        return dict(self.ask("Stats"))

    def reset_stats(self) -> None:
        """Count usage from zero."""
        self.ask("ResetStats")

    def reset(self) -> int:
        """Remove every document; how many there were."""
        return int(self.ask("Reset")["removed"])

    def set_faults(self, rules: Iterable[Mapping[str, Any]], *, seed: int = 0) -> None:
        """Replace the fault rules (see `faults`); none = no faults."""
        self.ask("SetFaults", {"rules": list(rules), "seed": seed})

    def faults(self) -> list[dict[str, Any]]:
        """The fault rules that can still strike."""
        return list(self.ask("GetFaults"))

    def healthy(self) -> bool:
        """Whether it answers the standard health check."""
        return self._call(HEALTH, b"") == SERVING

    def export(self) -> Iterator[str]:
        """Every document as a JSON line. Documents written meanwhile may or may not be among them."""
        after = ""
        while True:
            page = self.ask("Export", {"after": after, "limit": PAGE})
            yield from page["lines"]
            after = page["after"]
            if not after:
                return

    def load(self, lines: Iterable[str]) -> int:
        """Write exported documents back; how many."""
        rest = iter(lines)
        written = 0
        while batch := list(islice(rest, PAGE)):
            written += int(self.ask("Import", {"lines": batch})["written"])
        return written


@contextmanager
def admin(address: str) -> Iterator[Admin]:
    """The admin service at an address, for the length of a `with` block."""
    channel = grpc.insecure_channel(address, options=UNLIMITED)
    try:
        yield Admin(channel, address)
    finally:
        channel.close()


def export_file(address: str, path: Path) -> int:
    """Write every document of a server to a file of JSON lines; how many.

    Raises:
        AdminError: the server cannot be reached, or the file cannot be written.
    """
    count = 0
    try:
        with admin(address) as service, path.open("w", encoding="utf-8") as out:
            for count, line in enumerate(service.export(), start=1):  # noqa: B007 - the last count is the answer
                out.write(f"{line}\n")
    except OSError as error:
        raise AdminError(f"{path} cannot be written ({error.strerror}): choose another file.") from error
    return count


def import_file(address: str, path: Path) -> int:
    """Write the documents of a file of JSON lines to a server; how many.

    Raises:
        AdminError: the file cannot be read, or the server refuses a line.
    """
    try:
        with admin(address) as service, path.open(encoding="utf-8") as lines:
            return service.load(lines)
    except (OSError, UnicodeDecodeError) as error:
        raise AdminError(f"{path} cannot be read as JSON lines ({error}): choose another file.") from error
