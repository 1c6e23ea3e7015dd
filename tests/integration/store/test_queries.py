"""Every declared query really runs with the composite index check on, and answers what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from google.api_core.exceptions import FailedPrecondition

from mos.domain.model import JobStatus, Task, TaskStatus
from mos.domain.transitions import By
from mos.store import queries
from mos.store.queries import ASC, Query, declared
from tests.builders import NOW, job, lease, task
from tests.integration.store.conftest import Store


@pytest.mark.parametrize("query", declared(), ids=lambda query: query.name)
def test_a_declared_query_has_the_index_it_needs(store: Store, query: Query) -> None:
    assert list(query.on(store.client).stream()) == []


def test_the_index_check_is_on(store: Store) -> None:
    """Else the test above would say nothing."""
    undeclared = Query("x", "tasks", (("status", "==", "queued"), ("reapCount", ">", 1)), (("reapCount", ASC),))
    with pytest.raises(FailedPrecondition, match="index"):
        list(undeclared.on(store.client).stream())


def ids(store: Store, query: Query) -> list[str]:
    return [found.id for found in query.on(store.client).stream()]


def test_due_tasks_are_mine_of_one_status_due_by_now_oldest_first_and_bounded(store: Store) -> None:
    def due(name: str, minutes: int, by: str = "reaper", status: str = "queued") -> Task:
        return task(status, id=name, check_by=by, check_at=NOW + timedelta(minutes=minutes))

    store.put(due("b", -1), due("a", -3), due("now", 0), due("later", 1), due("c", -2, "render-recovery"))
    store.put(due("r", -9, status="running"), task("queued", id="undriven"))
    assert ids(store, queries.tasks_due(By.REAPER, TaskStatus.QUEUED, NOW, 10)) == ["a", "b", "now"]
    assert ids(store, queries.tasks_due(By.REAPER, TaskStatus.QUEUED, NOW, 2)) == ["a", "b"]


def test_an_empty_answer_costs_one_read_however_much_is_in_flight(store: Store) -> None:
    store.put(*(task("running", id=f"t{n}", check_by="reaper", check_at=NOW, lease=lease()) for n in range(50)))
    store.engine.meter.reset()
    list(queries.tasks_due(By.REAPER, TaskStatus.RUNNING, NOW - timedelta(seconds=1), 300).on(store.client).stream())
    assert sum(usage["reads"] for usage in store.engine.meter.snapshot().values()) == 1


def test_processing_jobs_are_all_that_are_under_way_whatever_their_kind(store: Store) -> None:
    store.put(job(id="a"), job(id="b", kind="voice_training"), job("failed", id="c"), job(id="d", kind="shot_video"))
    assert ids(store, queries.processing_jobs()) == ["a", "b", "d"]


def test_pending_jobs_come_oldest_first(store: Store) -> None:
    store.put(job("pending", id="young", created_at=NOW), job("pending", id="old", created_at=NOW - timedelta(hours=1)))
    assert ids(store, queries.pending_jobs(5)) == ["old", "young"]


def test_a_jobs_tasks_its_queued_ones_and_its_open_ones(store: Store) -> None:
    every: list[Any] = [task(status, id=status) for status in TaskStatus]
    store.put(*every, task("queued", id="other", job_id="k"))
    assert set(ids(store, queries.tasks_of_job("j"))) == set(TaskStatus)
    assert ids(store, queries.queued_of_job("j")) == ["queued"]
    assert set(ids(store, queries.open_of_job("j", 9))) == {"pending", "waiting", "queued", "running"}
    assert len(ids(store, queries.open_of_job("j"))) == 2


def test_the_lately_claimed_tasks_of_a_step_come_newest_first(store: Store) -> None:
    store.put(*(task("completed", id=f"t{n}", started_at=NOW + timedelta(minutes=n)) for n in range(3)))
    store.put(task("running", id="x", step_type="image_edit", started_at=NOW), task("queued", id="never"))
    assert ids(store, queries.lately_claimed("upscale", 2)) == ["t2", "t1"]


def test_jobs_due_are_of_one_status_and_mission(store: Store) -> None:
    store.put(job("cancelled", id="a", check_by="dispatch", check_at=NOW), job("cancelled", id="b"))
    assert ids(store, queries.jobs_due(By.DISPATCH, JobStatus.CANCELLED, NOW, 5)) == ["a"]


def test_unsent_notifications_and_workers_seen(store: Store) -> None:
    store.other.document("notifications/a").set({"send": {"state": "unsent"}, "createdAt": NOW})
    store.other.document("notifications/b").set({"send": {"state": "sent"}, "createdAt": NOW})
    store.other.document("workers/w").set({"heartbeatAt": NOW})
    assert ids(store, queries.unsent_notifications(NOW)) == ["a"]
    assert ids(store, queries.workers_seen_since(NOW)) == ["w"]
    assert ids(store, queries.workers_seen_since(NOW + timedelta(seconds=1))) == []
