"""The transition tables as data: nothing else is legal."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from mos.domain.model import JobStatus as J
from mos.domain.model import TaskStatus as T
from mos.domain.transitions import JOBS, TASKS, By, Fence, diagram, job_transition, task_transition

WORKING = {By.WORKER, By.REAPER, By.RENDER_RECOVERY}
RETRYING = {By.PRODUCTION_RETRY, By.OPERATOR}


@pytest.mark.parametrize("status", [T.COMPLETED, T.CANCELLED])
def test_completed_and_cancelled_tasks_stay_so(status: T) -> None:
    assert not [row for row in TASKS if row.before is status]


@pytest.mark.parametrize("status", [J.COMPLETED, J.CANCELLED])
def test_completed_and_cancelled_jobs_stay_so(status: J) -> None:
    assert not [row for row in JOBS if row.before is status]


def test_failed_and_dead_tasks_leave_only_through_a_repair_that_starts_a_new_attempt() -> None:
    rows = [row for row in TASKS if row.before in {T.FAILED, T.DEAD}]
    assert {(row.before, row.after) for row in rows} == set(product([T.FAILED, T.DEAD], [T.PENDING, T.WAITING]))
    assert all(row.by == RETRYING and row.supersedes for row in rows)


def test_a_failed_job_is_retried_or_cancelled() -> None:
    assert {(row.after, row.by) for row in JOBS if row.before is J.FAILED} == {
        (J.PENDING, frozenset(RETRYING)),
        (J.CANCELLED, frozenset({By.OPERATOR})),
    }


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        (None, T.PENDING, {By.PRODUCER}),
        (None, T.WAITING, {By.PRODUCER}),
        (None, T.QUEUED, {By.WORKER}),
        (T.QUEUED, T.RUNNING, {By.WORKER}),
        (T.RUNNING, T.RUNNING, {By.WORKER}),
        (T.RUNNING, T.COMPLETED, {By.WORKER, By.RENDER_RECOVERY}),
        (T.RUNNING, T.QUEUED, WORKING),
        (T.RUNNING, T.PENDING, WORKING),
        (T.RUNNING, T.FAILED, WORKING),
        (T.RUNNING, T.DEAD, WORKING),
        (T.QUEUED, T.FAILED, {By.REAPER, By.RENDER_RECOVERY}),
        (T.QUEUED, T.DEAD, WORKING),
        (T.QUEUED, T.QUEUED, {By.REAPER, By.RENDER_RECOVERY}),
        (T.QUEUED, T.PENDING, WORKING | RETRYING | {By.STALLED_JOBS}),
        (T.WAITING, T.QUEUED, {By.WORKER, By.DISPATCH, By.STALLED_JOBS, By.RENDER_RECOVERY}),
        (T.PENDING, T.QUEUED, {By.DISPATCH, By.STALLED_JOBS, By.RENDER_RECOVERY}),
        (T.PENDING, T.FAILED, {By.STALLED_JOBS}),
        (T.WAITING, T.FAILED, {By.STALLED_JOBS}),
        (T.RUNNING, T.CANCELLED, {By.DISPATCH}),
        (T.QUEUED, T.CANCELLED, {By.DISPATCH}),
    ],
)
def test_who_may_change_a_task(before: T | None, after: T, by: set[By]) -> None:
    row = task_transition(before, after)
    assert row is not None
    assert row.by == by


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        (None, J.PENDING, {By.PRODUCER}),
        (None, J.PROCESSING, {By.WORKER}),
        (J.PENDING, J.PROCESSING, {By.DISPATCH}),
        (J.PENDING, J.FAILED, WORKING),
        (J.PROCESSING, J.COMPLETED, {By.WORKER, By.STALLED_JOBS, By.RENDER_RECOVERY}),
        (J.PROCESSING, J.FAILED, WORKING | {By.STALLED_JOBS}),
        (J.PENDING, J.CANCELLED, {By.OPERATOR}),
        (J.PROCESSING, J.CANCELLED, {By.OPERATOR}),
    ],
)
def test_who_may_change_a_job(before: J | None, after: J, by: set[By]) -> None:
    row = job_transition(before, after)
    assert row is not None
    assert row.by == by


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (T.PENDING, T.RUNNING),
        (T.WAITING, T.RUNNING),
        (T.PENDING, T.COMPLETED),
        (T.QUEUED, T.COMPLETED),
        (T.FAILED, T.QUEUED),
        (T.FAILED, T.RUNNING),
        (T.COMPLETED, T.QUEUED),
        (T.COMPLETED, T.FAILED),
        (T.CANCELLED, T.PENDING),
        (None, T.RUNNING),
        (None, T.COMPLETED),
    ],
)
def test_the_steps_that_races_would_take_are_not_in_the_table(before: T | None, after: T) -> None:
    assert task_transition(before, after) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [(J.COMPLETED, J.FAILED), (J.FAILED, J.PROCESSING), (J.CANCELLED, J.PENDING), (J.PENDING, J.COMPLETED)],
)
def test_jobs_do_not_skip_their_slot_or_come_back(before: J, after: J) -> None:
    assert job_transition(before, after) is None


@pytest.mark.parametrize("table", [TASKS, JOBS])
def test_each_pair_has_one_row_with_somebody_who_may(table: Any) -> None:
    pairs = [(row.before, row.after) for row in table]
    assert len(pairs) == len(set(pairs))
    assert all(row.by for row in table)
    assert all((row.fence is Fence.ABSENT) == (row.before is None) for row in table)


def test_what_runs_is_fenced_by_its_lease_except_where_the_job_is_cancelled() -> None:
    rows = [row for row in TASKS if row.before is T.RUNNING and row.after is not T.CANCELLED]
    assert {row.fence for row in rows} == {Fence.LEASE}


@pytest.mark.parametrize(
    ("table", "live"), [(TASKS, {T.PENDING, T.WAITING, T.QUEUED, T.RUNNING}), (JOBS, {J.PENDING, J.PROCESSING})]
)
def test_every_unfinished_state_can_be_reached_and_can_end(table: Any, live: set[Any]) -> None:
    reached: set[Any] = {None}
    for _ in table:
        reached |= {row.after for row in table if row.before in reached}
    assert live <= reached
    ends = {row.before for row in table if row.after not in live}
    for _ in table:
        ends |= {row.before for row in table if row.after in ends}
    assert live <= ends


def test_the_diagram_has_one_edge_per_row() -> None:
    edges = [line for line in diagram().splitlines() if "-->" in line]
    assert len(edges) == len(TASKS) + len(JOBS)
    assert "    queued --> running: worker" in edges
