"""Makes `from tests.builders import …` work however pytest is started, and keeps time limits out of properties."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = str(Path(__file__).parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

# Machines are shared: a slow example says nothing about the rule.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("shared")
