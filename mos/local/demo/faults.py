"""The faults of the demo. Each strikes for real and knows how to tell that the system recovered from it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Protocol

from mos.domain.messages import parse_message
from mos.domain.model import Task, TaskStatus
from mos.local.demo.scene import Scene


class Fault(Protocol):
    """Something that goes wrong. `strike` tries once; `poll` answers how it recovered, when it has."""

    name: str
    subject: str

    def strike(self, scene: Scene) -> bool: ...
    def poll(self, scene: Scene) -> str | None: ...
    def abandon(self) -> None: ...


def _signalled(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _all_completed(scene: Scene, victims: list[Task]) -> list[Task] | None:
    now = [scene.task(victim.id) for victim in victims]
    done = [task for task in now if task is not None and task.status is TaskStatus.COMPLETED]
    return done if len(done) == len(victims) else None


@dataclass
class WorkerKilled:
    """SIGKILL of a worker in the middle of its tasks."""

    name: str = "worker killed mid-task (SIGKILL)"
    subject: str = ""
    victims: list[Task] = field(default_factory=list)

    def strike(self, scene: Scene) -> bool:
        for worker, pid in sorted(scene.worker_pids().items()):
            owner = scene.owner_of(pid)
            if owner is None or not scene.running_by(owner) or not _signalled(pid, signal.SIGKILL):
                continue
            self.victims = scene.running_by(owner)
            self.subject = f"{worker}, {len(self.victims)} running"
            if self.victims:
                return True
        return False

    def poll(self, scene: Scene) -> str | None:
        done = _all_completed(scene, self.victims)
        if done is None:
            return None
        before = {victim.id: victim.executions for victim in self.victims}
        again = sum(task.executions > before[task.id] for task in done)
        return f"{again} taken over after the lease ended" if again == len(done) else None

    def abandon(self) -> None:
        """Nothing is held."""


@dataclass
class MessageDeleted:
    """A message deleted behind the system's back: queued for ever, and nobody would come."""

    name: str = "message deleted behind the system's back"
    subject: str = ""
    victim: str = ""

    def strike(self, scene: Scene) -> bool:
        for queue in (scene.app.policy.pipeline.step(step).queue for step in ("image_edit", "frame_expand")):
            for received in scene.app.queues.receive(queue, max_messages=1, wait_seconds=0):
                message = parse_message(received.body)
                task = scene.task(message.task_id)
                scene.app.queues.delete(queue, [received.receipt_handle])
                if task is not None and task.status is TaskStatus.QUEUED and task.attempt == message.attempt:
                    self.victim, self.subject = task.id, task.id
                    return True
        return False

    def poll(self, scene: Scene) -> str | None:
        task = scene.task(self.victim)
        if task is None or task.status is not TaskStatus.COMPLETED:
            return None
        return "the reaper sent the same attempt again"

    def abandon(self) -> None:
        """Nothing is held."""


@dataclass
class Zombie:
    """A worker frozen past its lease, thawed after it was replaced: its late writes must change nothing."""

    name: str = "zombie worker (SIGSTOP past its lease, SIGCONT)"
    subject: str = ""
    victims: list[Task] = field(default_factory=list)
    pid: int | None = None

    def strike(self, scene: Scene) -> bool:
        for worker, pid in sorted(scene.worker_pids().items(), reverse=True):
            owner = scene.owner_of(pid)
            if owner is None or not scene.running_by(owner) or not _signalled(pid, signal.SIGSTOP):
                continue
            self.victims = scene.running_by(owner)
            if self.victims:
                self.pid, self.subject = pid, f"{worker}, {len(self.victims)} running"
                return True
            _signalled(pid, signal.SIGCONT)
        return False

    def poll(self, scene: Scene) -> str | None:
        if self.pid is not None:
            tokens = {victim.id: victim.lease.token for victim in self.victims if victim.lease}
            now = [task for task in (scene.task(victim.id) for victim in self.victims) if task is not None]
            if any(task.lease is not None and task.lease.token == tokens[task.id] for task in now):
                return None
            self.abandon()
        done = _all_completed(scene, self.victims)
        return f"{len(done)} replaced, the late writes were fenced off" if done is not None else None

    def abandon(self) -> None:
        """Thaw the process, whatever happens."""
        if self.pid is not None:
            _signalled(self.pid, signal.SIGCONT)
            self.pid = None


@dataclass
class MissionKilled:
    """SIGKILL of the reaper's own run: the healer must heal."""

    name: str = "the reaper's own run killed (SIGKILL)"
    subject: str = ""
    finished_before: object = None

    def strike(self, scene: Scene) -> bool:
        for pid in scene.run_processes("reaper"):
            self.finished_before = scene.mission_heartbeat("reaper").get("lastFinishedAt")
            if _signalled(pid, signal.SIGKILL):
                self.subject = f"flow run process {pid}"
                return True
        return False

    def poll(self, scene: Scene) -> str | None:
        finished = scene.mission_heartbeat("reaper").get("lastFinishedAt")
        return "a later run finished" if finished is not None and finished != self.finished_before else None

    def abandon(self) -> None:
        """Nothing is held."""
