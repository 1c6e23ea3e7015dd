"""The command line `mos` (specification §4.3)."""

from mos.cli.app import main

__all__ = ["main"]
