"""`mos submit`, `mos why`, `mos timeline`, `mos cancel`: one job."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mos.bootstrap import App
from mos.cli.connection import DEFAULT_STATE, Json, StateDir, join
from mos.cli.exits import CommandError, Exit
from mos.domain.explaining import Explanation
from mos.domain.model import TERMINAL_JOBS, Job, JobStatus, TaskStatus
from mos.local.submission import MissingFile, check_images, submit_images
from mos.missions.base import run
from mos.missions.cancel_job import cancel_job
from mos.missions.explain import NoSuchJob, explain_job, job_timeline, view_job

JobId = Annotated[str, typer.Argument(help="The job's id, as `mos submit` printed it.")]
POLL_SECONDS = 1.0
WIDE = 200
"""Columns of a table that no terminal cuts off."""


def submit(
    files: Annotated[list[Path], typer.Argument(help="Images: each becomes one shot.")],
    *,
    job: Annotated[str | None, typer.Option("--job", help="The job's id; a new one by default.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job to its end.")] = True,
    state_dir: StateDir = DEFAULT_STATE,
    as_json: Json = False,
) -> int:
    """Put images into the pipeline as a real job and follow it. Exit 1 when the job failed.

    Example: mos submit kitchen.jpg garden.jpg
    """
    try:
        check_images(files)
        app = join(state_dir)
        made = submit_images(app, files, job_id=job)
    except MissingFile as error:
        raise CommandError(error.message, Exit.NOT_FOUND) from error
    if wait:
        made = _follow(app, made.id, quiet=as_json)
    outputs = {name: shot.output_key for name, shot in made.shots.items() if shot.output_key}
    document = {"job": made.id, "status": str(made.status), "outputs": outputs}
    _print(document, _ended(made, outputs, app.settings.bucket), as_json=as_json)
    return Exit.OK if made.status in {JobStatus.COMPLETED, JobStatus.PENDING, JobStatus.PROCESSING} else Exit.FAILED


def why(job: JobId, *, state_dir: StateDir = DEFAULT_STATE, as_json: Json = False) -> int:
    """Why is a job not moving: the stuck item, the rule and mission that own it, what happens when, or who must act.

    Example: mos why job-1a2b3c4d5e
    """
    explanation = _found(lambda: _explained(join(state_dir), job))
    _print(explanation.as_dict(), explanation.text(), as_json=as_json)
    return Exit.OK


def timeline(job: JobId, *, state_dir: StateDir = DEFAULT_STATE, as_json: Json = False) -> int:
    """Everything recorded about a job in time order: states, attempts, acts of the missions, errors.

    Example: mos timeline job-1a2b3c4d5e
    """
    rows = _found(lambda: job_timeline(join(state_dir).firestore, job))
    if as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return Exit.OK
    table = Table("time", "by", "act", "what", "change", "why", box=None, pad_edge=False)
    for row in rows:
        subject = row["subject"].removeprefix(f"tasks/{job}.").removeprefix("jobs/")
        table.add_row(row["at"][11:23], row["by"], row["act"], subject, row["change"], row["why"])
    console = Console()
    console.print(table, width=None if console.is_terminal else WIDE)
    return Exit.OK


def cancel(
    job: JobId,
    *,
    why: Annotated[str, typer.Option("--why", help="The reason, for the record.")] = "cancelled by hand",
    yes: Annotated[
        bool, typer.Option("--yes", help="Really cancel; without it only what would happen is shown.")
    ] = False,
    state_dir: StateDir = DEFAULT_STATE,
) -> int:
    """Cancel a job. Without --yes it only says what would happen.

    Example: mos cancel job-1a2b3c4d5e --why "customer withdrew" --yes
    """
    app = join(state_dir)
    view = _found(lambda: view_job(app.firestore, job))
    if not yes:
        Console().print(_would_cancel(view.job, sum(not task.terminal for task in view.tasks)), highlight=False)
        return Exit.OK
    done = cancel_job(app.gateway("operator"), job, why=why)
    run(app.dispatch())  # it ends the tasks; if it does not get to it, its next tick does
    Console().print(f"{job} is cancelled" if done.changed else f"{job} was cancelled already", highlight=False)
    return Exit.OK


def _ended(job: Job, outputs: dict[str, str], bucket: str) -> str:
    """The job's end in a few lines: where the results are, or why there are none."""
    if job.status is JobStatus.FAILED:
        error = job.error
        why = f": {error.failure_class} in {error.step}: {error.message}" if error else ""
        return f"{job.id} {job.status}{why}\nmore: mos why {job.id}, mos timeline {job.id}"
    return "\n".join([f"{job.id} {job.status}", *(f"  {shot}  s3://{bucket}/{key}" for shot, key in outputs.items())])


def _would_cancel(job: Job, open_tasks: int) -> str:
    if job.status in {JobStatus.COMPLETED, JobStatus.CANCELLED}:
        return f"{job.id} is {job.status}: there is nothing to cancel"
    return f"{job.id} is {job.status}; {open_tasks} open tasks would be cancelled. Add --yes to do it."


def _follow(app: App, job_id: str, *, quiet: bool) -> Job:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total} steps"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=quiet or not console.is_terminal) as progress:
        bar = progress.add_task(job_id, total=None)
        while True:
            view = view_job(app.firestore, job_id)
            done = sum(task.status is TaskStatus.COMPLETED for task in view.tasks)
            progress.update(bar, total=len(view.tasks), completed=done, description=f"{job_id} {view.job.status}")
            if view.job.status in TERMINAL_JOBS:
                return view.job
            app.runtime.sleep(POLL_SECONDS)


def _explained(app: App, job: str) -> Explanation:
    return explain_job(app.firestore, app.queues, app.policy, job)


def _found(work: Any) -> Any:
    try:
        return work()
    except NoSuchJob as error:
        raise CommandError(error.message, Exit.NOT_FOUND) from error


def _print(document: dict[str, Any], text: str, *, as_json: bool) -> None:
    sys.stdout.write((json.dumps(document) if as_json else text) + "\n")


COMMANDS = (submit, why, timeline, cancel)
