"""Where the stack keeps its files."""

from __future__ import annotations

from pathlib import Path

from mos.local.supervisor.errors import StackError


def stack_file(state_dir: Path) -> Path:
    """What runs now (record.py)."""
    return state_dir / "stack.json"


def lock_file(state_dir: Path) -> Path:
    """Held by the supervisor while it lives (lock.py)."""
    return state_dir / "stack.lock"


def log_file(state_dir: Path, name: str) -> Path:
    """The output of a part since the stack's start; that of the run before is beside it, with `.1`."""
    return state_dir / "logs" / f"{name}.log"


def prepare(state_dir: Path) -> None:
    """Make the directories; raises StackError if they cannot be written."""
    try:
        (state_dir / "logs").mkdir(parents=True, exist_ok=True)
        lock_file(state_dir).touch()
    except OSError as error:
        raise StackError(f"cannot write to {state_dir} ({error.strerror}); choose another --state-dir") from error


def fresh_log(state_dir: Path, name: str) -> Path:
    """Put the log of the run before aside; the path of the new one."""
    log = log_file(state_dir, name)
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    return log


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a log, indented, or a word that there is nothing."""
    lines = log.read_text(errors="replace").splitlines()[-count:] if log.exists() else []
    return "\n".join(f"  {line}" for line in lines) or "  (it wrote nothing)"
