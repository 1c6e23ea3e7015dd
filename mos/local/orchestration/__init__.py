"""Prefect on one machine: server, deployment, worker and slot janitor as parts of the stack.

Nothing here imports Prefect: the command line stays quick.
"""

from mos.local.orchestration.parts import parts

__all__ = ["parts"]
