"""`python -m mos.local.firestore`: the embedded Firestore server as a process."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from pathlib import Path

from mos.local.firestore.composites import CompositeIndexes, IndexFileError, load
from mos.local.firestore.engine import DEFAULT_LOCK_TIMEOUT, Engine
from mos.local.firestore.faults import FaultScript, Rule, rule
from mos.local.firestore.server import PortTaken, Server, serve
from mos.local.firestore.storage import DataFileError, Memory, Sqlite, Storage
from mos.local.firestore.transactions import IDLE_SECONDS, LOCKING_VARIABLE, Locking

EX_UNAVAILABLE = 69
EX_CONFIG = 78


class FaultFileError(Exception):
    """The file of fault rules cannot be read; the text says what to do."""


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m mos.local.firestore", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 picks a free one (default)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="FILE", help="SQLite file that keeps the documents")
    where.add_argument("--memory", action="store_true", help="keep nothing (default)")
    parser.add_argument("--indexes", type=Path, metavar="FILE", help="firestore.indexes.json; turns the index check on")
    parser.add_argument("--project", help="the only project to serve (default: any)")
    parser.add_argument("--locking", choices=[mode.value for mode in Locking], default=None)
    parser.add_argument("--lock-timeout", type=float, default=DEFAULT_LOCK_TIMEOUT, metavar="SECONDS")
    parser.add_argument("--idle-seconds", type=float, default=IDLE_SECONDS, help="idle transactions end (default 60)")
    parser.add_argument("--faults", type=Path, metavar="FILE", help="JSON list of fault rules to begin with")
    parser.add_argument("--seed", type=int, default=0, help="decides what a fault rule's probability leaves open")
    return parser


def build(options: argparse.Namespace) -> Server:
    """The server that the command line asks for."""
    indexes: CompositeIndexes | None = load(options.indexes) if options.indexes else None
    storage: Storage = Sqlite(options.data) if options.data else Memory()
    engine = Engine(
        storage=storage,
        locking=options.locking,
        lock_timeout=options.lock_timeout,
        project=options.project,
        nonce=os.urandom(8).hex().encode(),
        indexes=indexes,
        idle_seconds=options.idle_seconds,
    )
    gc.freeze()  # the loaded documents stay: the collector need not visit them again and again
    faults = FaultScript(_rules(options.faults), seed=options.seed)
    return Server(engine, host=options.host, port=options.port, faults=faults)


def _rules(path: Path | None) -> list[Rule]:
    if path is None:
        return []
    try:
        return [rule(entry) for entry in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FaultFileError(
            f"{path} cannot be read as a list of fault rules ({error}): correct or omit it."
        ) from error


def main() -> int:
    """Run until told to stop; the exit code says how it ended."""
    parser = arguments()
    options = parser.parse_args()
    try:
        Locking.default()
    except ValueError as error:
        parser.error(f"{LOCKING_VARIABLE}: {error}")
    try:
        asyncio.run(serve(build(options), ready=_announce))
    except PortTaken as error:
        return _complain(error, EX_UNAVAILABLE)
    except (DataFileError, FaultFileError, IndexFileError) as error:
        return _complain(error, EX_CONFIG)
    return 0


def _announce(address: str) -> None:
    sys.stdout.write(f"firestore ready on {address}\n")
    sys.stdout.flush()


def _complain(error: Exception, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
