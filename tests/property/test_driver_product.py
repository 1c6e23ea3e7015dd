"""Law 1 over the whole product of (entity, status, kind of step, flags): everything unfinished has a driver."""

from __future__ import annotations

from datetime import datetime
from itertools import product
from typing import Any

import pytest

from mos.domain.drivers import Done, Driver, People, Undriven, ViaJob, driver_of_job, driver_of_task
from mos.domain.model import (
    TERMINAL_TASKS,
    IncidentStatus,
    JobStatus,
    Render,
    Send,
    SendState,
    Shot,
    ShotStatus,
    TaskStatus,
)
from mos.domain.pipeline import OWN_RECOVERY
from mos.domain.transitions import By
from tests.builders import NOW, ahead, incident, job, lease, policy, shipped, task

STEPS = (*shipped().steps, "unknown_step")
RENDERS = (None, Render(), Render(uid="u", submitted_at=NOW))
FLAGS = list(product(SendState, (None, ahead(minutes=5)), (True, False), RENDERS))


def flagged(status: TaskStatus, step: str, flags: Any) -> Any:
    state, not_before, leased, render = flags
    running = status is TaskStatus.RUNNING
    return task(
        status,
        step_type=step,
        send=Send(state=state, at=NOW),
        not_before=not_before,
        lease=lease(ends=ahead(minutes=1)) if running and leased else None,
        render=render,
        queued_at=NOW,
        started_at=NOW if running else None,
    )


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("of", JobStatus)
def test_every_unfinished_task_has_a_driver_under_every_job_that_is_itself_driven(of: JobStatus, step: str) -> None:
    for status, flags in product(TaskStatus, FLAGS):
        found = flagged(status, step, flags)
        driver = driver_of_task(found, job(of), policy())
        if status in TERMINAL_TASKS:
            assert driver == Done()
        elif status is TaskStatus.RUNNING or (of is JobStatus.PROCESSING and status is TaskStatus.QUEUED):
            owner = By.RENDER_RECOVERY if step in OWN_RECOVERY else By.REAPER
            assert isinstance(driver, Driver)
            assert driver.by is owner
            assert isinstance(driver.at, datetime)
        else:
            assert driver == (Undriven("its job is completed") if of is JobStatus.COMPLETED else ViaJob("j"))


@pytest.mark.parametrize("status", JobStatus)
def test_every_job_has_a_driver_people_or_is_done(status: JobStatus) -> None:
    shots = ({}, {"a": Shot()}, {"a": Shot(status=ShotStatus.OUTPUT_READY)})
    incidents = (None, *(incident(kind) for kind in IncidentStatus))
    for given, rerender, opened, open_tasks in product(shots, (True, False), incidents, (True, False)):
        found = job(status, shots=given, needs_ae_rerender=rerender, production_incident=opened)
        driver = driver_of_job(found, policy(), now=NOW, open_tasks=open_tasks)
        assert not isinstance(driver, Undriven | ViaJob)
        finished = status is JobStatus.COMPLETED or (status is JobStatus.CANCELLED and not open_tasks)
        assert (driver == Done()) is finished
        needs_people = opened is not None and opened.status in {"exhausted", "operator_required"}
        assert isinstance(driver, People) is (status is JobStatus.FAILED and needs_people)


def test_a_live_lease_is_never_due() -> None:
    for step in STEPS:
        driver = driver_of_task(task("running", step_type=step, lease=lease(ends=ahead(minutes=1))), job(), policy())
        assert isinstance(driver, Driver)
        assert driver.at > ahead(minutes=1)
