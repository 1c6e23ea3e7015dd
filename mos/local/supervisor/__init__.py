"""The process supervisor of the local stack.

`Supervisor(parts, state_dir)` runs parts for as long as its process lives;
`run_foreground` and `start_detached` put a command line around it.
"""

from mos.local.supervisor.detached import Down, running, start_detached, stop_detached
from mos.local.supervisor.errors import StackError
from mos.local.supervisor.foreground import run_foreground, signals_to
from mos.local.supervisor.machine import Phase
from mos.local.supervisor.part import Part, Restart
from mos.local.supervisor.ports import free_port, require_port
from mos.local.supervisor.probes import Finishes, HttpAnswers, LogLine, PortOpen
from mos.local.supervisor.record import PartRecord, StackRecord
from mos.local.supervisor.supervisor import Supervisor

__all__ = [
    "Down",
    "Finishes",
    "HttpAnswers",
    "LogLine",
    "Part",
    "PartRecord",
    "Phase",
    "PortOpen",
    "Restart",
    "StackError",
    "StackRecord",
    "Supervisor",
    "free_port",
    "require_port",
    "run_foreground",
    "running",
    "signals_to",
    "start_detached",
    "stop_detached",
]
