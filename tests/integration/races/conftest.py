"""Races between actors of one world: the worker's fixtures serve here too."""

from tests.integration.workers.conftest import _quiet, actor, in_flight, world

__all__ = ["_quiet", "actor", "in_flight", "world"]
