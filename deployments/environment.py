"""The variables that a deployment file asks for, checked before Prefect sees them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mos.domain.errors import SettingsError

_PLACEHOLDER = re.compile(r"\{\{\s*\$(\w+)\s*\}\}")
MEANINGS = {
    "MISSION_DIR": "the directory that holds flows/ where the runs are executed",
    "MISSION_ENV": "the environment's name, for example production",
    "MISSION_POOL": "the Prefect work pool that starts the runs",
    "MISSION_PYTHON": "the Python interpreter of the process worker's runs",
    "MISSION_VERSION": "the version that is deployed, for example a commit",
    "PREFECT_API_URL": "the address of the Prefect API",
}


def require_variables(deployment_file: str, environment: Mapping[str, str]) -> None:
    """Raise SettingsError naming every variable of the file's text that is unset or empty.

    Prefect itself would take the placeholder's text for the value, and say nothing.
    """
    wanted = {*_PLACEHOLDER.findall(deployment_file), "PREFECT_API_URL"}
    missing = sorted(name for name in wanted if not environment.get(name))
    if missing:
        told = "; ".join(f"{name}: {MEANINGS.get(name, 'named in the deployment file')}" for name in missing)
        raise SettingsError(f"set {', '.join(missing)} before deploying ({told})", details={"field": missing[0]})
