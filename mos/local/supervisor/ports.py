"""Loopback ports for the parts."""

from __future__ import annotations

import random
import socket

import psutil

from mos.local.supervisor.errors import StackError

HOST = "127.0.0.1"
_LOWEST, _HIGHEST = 15_000, 32_000
"""Below the ephemeral range of Linux and macOS. While a part is down, a client that keeps connecting to a port
inside that range can be given the very same port as its own and connect to itself: the part could never come back."""
_TRIES = 200


def free_port() -> int:
    """A loopback port that nobody listens on, outside the range that outgoing connections use."""
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)
        if _can_bind(port):
            return port
    raise StackError(f"no free port between {_LOWEST} and {_HIGHEST} on {HOST}; end some of the programs that listen")


def require_port(port: int, *, wanted_by: str = "the stack") -> int:
    """`port` itself if it is free; raises StackError naming the program that has it otherwise."""
    if _can_bind(port):
        return port
    raise StackError(
        f"port {port}, wanted by {wanted_by}, is taken by {_holder(port)}; end that program or choose another port"
    )


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT leftovers do not matter
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _holder(port: int) -> str:
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid]
        return f"{psutil.Process(listening[0].pid).name()} (pid {listening[0].pid})"
    except (psutil.Error, IndexError):
        return "another program"
