"""What the demo sees of the running stack: documents, processes and queues."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psutil
from google.cloud import firestore

from mos.bootstrap import App
from mos.domain.model import Job, Task, TaskStatus
from mos.local.supervisor import Supervisor
from mos.store.documents import read
from mos.store.queries import tasks_of_job


@dataclass
class Scene:
    """The stack under test and the jobs of this run."""

    app: App
    supervisor: Supervisor
    job_ids: tuple[str, ...] = ()

    @property
    def client(self) -> firestore.Client:
        return self.app.firestore

    def jobs(self) -> list[Job]:
        """The jobs of this run, as they are now."""
        references = [self.client.collection("jobs").document(name) for name in self.job_ids]
        found = [read(Job, snapshot) for snapshot in self.client.get_all(references)]
        return sorted((job for job in found if job is not None), key=lambda job: job.id)

    def tasks(self) -> list[Task]:
        """All tasks of this run."""
        found: list[Task] = []
        for name in self.job_ids:
            snapshots = tasks_of_job(name).on(self.client).stream()
            found += [task for task in (read(Task, snapshot) for snapshot in snapshots) if task is not None]
        return found

    def task(self, name: str) -> Task | None:
        return read(Task, self.client.collection("tasks").document(name).get())

    def running_by(self, owner: str) -> list[Task]:
        """The tasks that a worker process holds."""
        mine = [task for task in self.tasks() if task.status is TaskStatus.RUNNING]
        return [task for task in mine if task.lease is not None and task.lease.owner == owner]

    def owner_of(self, pid: int) -> str | None:
        """The worker id of a process, by the record that it keeps."""
        for snapshot in (
            self.client.collection("workers").where(filter=firestore.FieldFilter("pid", "==", pid)).stream()
        ):
            return str(snapshot.id)
        return None

    def worker_pids(self) -> dict[str, int]:
        """The worker processes that run."""
        record = self.supervisor.status()
        return {p.name: p.pid for p in record.parts if p.name.startswith("worker-") and p.pid is not None}

    def run_processes(self, mission: str) -> list[int]:
        """The processes of a mission's Prefect runs."""
        return [pid for pid in self._descendants("prefect-worker") if self._mission_of(pid) == mission]

    def _descendants(self, part: str) -> Iterable[int]:
        pid = next((p.pid for p in self.supervisor.status().parts if p.name == part), None)
        if pid is None:
            return []
        try:
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _mission_of(self, pid: int) -> str:
        """A run's process names its flow in its environment."""
        try:
            environment = psutil.Process(pid).environ()
        except psutil.Error:
            return ""
        return environment.get("PREFECT__FLOW_NAME", "")

    def mission_heartbeat(self, mission: str) -> dict[str, Any]:
        """The heartbeat of a mission."""
        snapshot = self.client.document("infraStatus/missions").get()
        beats: dict[str, Any] = (snapshot.to_dict() or {}) if snapshot.exists else {}
        return dict(beats.get(mission) or {})

    def store_time(self) -> datetime:
        """The store's clock."""
        return self.client.document("config/production").get().read_time  # type: ignore[no-any-return]

    def log(self) -> list[dict[str, Any]]:
        """The recovery log of this run."""
        paths = {f"jobs/{name}" for name in self.job_ids}
        entries = [snapshot.to_dict() or {} for snapshot in self.client.collection("recoveryLog").stream()]
        return [entry for entry in entries if any(_touches(change["path"], paths) for change in entry["changes"])]


def _touches(path: str, jobs: set[str]) -> bool:
    kind, _, name = path.partition("/")
    return path in jobs or (kind == "tasks" and f"jobs/{name.split('.', 1)[0]}" in jobs)
