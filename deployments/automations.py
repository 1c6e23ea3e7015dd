"""What Prefect itself watches over."""

from __future__ import annotations

from datetime import timedelta

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

ZOMBIE_AFTER = timedelta(seconds=90)
"""Three heartbeats of 30 s: a run that misses them all is dead."""
_TERMINAL = ("Completed", "Failed", "Cancelled", "Crashed")

ZOMBIE_RUNS = AutomationCore(
    name="zombie-runs",
    description="A run whose heartbeat stopped without an end is dead: it is marked Crashed, which frees its slot.",
    trigger=EventTrigger(
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{state}" for state in _TERMINAL)},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=ZOMBIE_AFTER,
    ),
    actions=[ChangeFlowRunState(state=StateType.CRASHED, message="no heartbeat for 90 s: the run's process is gone")],
)
AUTOMATIONS = (ZOMBIE_RUNS,)


async def apply_automations(client: PrefectClient) -> None:
    """Create or update every automation, by name. They must stand before the runs that they watch begin."""
    for wanted in AUTOMATIONS:
        existing = await client.read_automations_by_name(wanted.name)
        if existing:
            await client.update_automation(existing[0].id, wanted)
        else:
            await client.create_automation(wanted)
