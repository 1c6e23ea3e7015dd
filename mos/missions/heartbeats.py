"""A run's heartbeat (§3.10). One that cannot be stamped is a failed pass: recovery goes on without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from google.cloud import firestore

from mos.missions.base import ActResult, Passes, Report, noted
from mos.store.missions import read_heartbeats, stamp_finished, stamp_started


@dataclass(frozen=True)
class Heart:
    """One run of one mission, as others see it."""

    client: firestore.Client
    mission: str
    run_id: str
    passes: Passes

    def superseded(self, scheduled: datetime) -> bool:
        """Whether another run started after this one was due.

        Raises:
            StateStoreError: the heartbeat cannot be read.
        """
        beat = read_heartbeats(self.client).get(self.mission)
        if beat is None or beat.last_started_at is None or beat.started_run == self.run_id:
            return False
        return beat.last_started_at > scheduled

    def started(self) -> None:
        """The run begins."""
        self.passes.attempt("heartbeat", lambda: stamp_started(self.client, self.mission, self.run_id), None)

    def finished(self, results: Sequence[ActResult], notes: Sequence[str]) -> Report:
        """The run ends with this report, whose passes include the stamp itself."""
        result = self._report(results, notes).summary
        self.passes.attempt("heartbeat", lambda: stamp_finished(self.client, self.mission, self.run_id, result), None)
        return self._report(results, notes)

    def _report(self, results: Sequence[ActResult], notes: Sequence[str]) -> Report:
        failed = self.passes.failed
        return Report(self.mission, tuple(results), (*notes, *noted(failed)), tuple(failed))
