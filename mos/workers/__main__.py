"""`python -m mos.workers`: one worker process, configured by its environment."""

from __future__ import annotations

import os
import sys

from mos import logs
from mos.bootstrap import from_environment
from mos.domain.errors import AppError
from mos.settings import Settings
from mos.workers.build import Parts, build_process
from mos.workers.handlers import load_handlers
from mos.workers.process import WorkerProcess
from mos.workers.signals import Signals

EXAMPLE = """\
example:
  WORKER_STEPS=image_edit,upscale WORKER_CONCURRENCY=4 python -m mos.workers

SIGTERM or SIGINT drains (a second one exits at once). Exit code: 0 after a clean
drain, 1 when the start failed or a loop ended unexpectedly."""
STARTS_WITH = ("MOS_", "AWS_", "SQS_", "WORKER_")


def usage() -> str:
    """The help text, from the settings themselves."""
    lines = [
        "usage: python -m mos.workers",
        "",
        "Serves pipeline steps from SQS. Options are environment variables:",
        "",
    ]
    for name, field in Settings.model_fields.items():
        alias = field.alias or name
        lines.append(f"  {alias:<40} {field.description} (default: {_shown(field.default)})")
    return "\n".join([*lines, "", EXAMPLE])


def _shown(default: object) -> str:
    return "none" if default in {None, ""} else str(default)


def main(arguments: list[str]) -> int:
    """Run until told to stop. The exit code."""
    if arguments:
        asked = bool({"-h", "--help"} & set(arguments))
        print(usage() if asked else "no arguments are taken; see --help", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    logs.configure("worker")
    with Signals() as signals:
        try:
            process, worker_id = _make()
            return process.run(signals.wait, lambda: print(f"worker ready {worker_id}", flush=True))  # noqa: T201
        except AppError as error:
            print(f"the worker did not start: {error.message}", file=sys.stderr)  # noqa: T201
            return 1


def _make() -> tuple[WorkerProcess, str]:
    app = from_environment()
    for warning in app.settings.warnings():
        logs.logger(__name__).warning(warning)
    parts = Parts(
        settings=app.settings,
        policy=app.policy,
        client=app.firestore,
        queues=app.queues,
        storage=app.storage,
        runtime=app.runtime,
        handlers=load_handlers(app.policy.pipeline, app.settings.steps),
        worker_id=app.runtime.new_id(),
    )
    return build_process(parts), parts.worker_id


def run() -> None:
    """Exit without waiting for a handler that does not stop: its thread is left behind."""
    try:
        code = main(sys.argv[1:])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
