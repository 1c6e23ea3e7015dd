"""One run of a mission as Prefect sees it: order of the steps, state at the end, artifact."""

import asyncio
import gc
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from prefect import flow
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

from flows.reaper import reaper
from mos.domain.errors import SettingsError, StateStoreError
from mos.missions.base import ActResult, Outcome, Report
from tasks.mission import ACT_DEADLINE, READ_DEADLINE, run_mission

pytestmark = [
    pytest.mark.xdist_group("prefect"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


SUMMARY = "1 × a done, 1 × b done"


@dataclass
class Plan:
    acts: tuple[str, ...]

    def rows(self):
        return [{"act": act, "why": "planned"} for act in self.acts]


@dataclass
class Errand:
    """A small real mission: two acts, each noted."""

    name: str = "errand"
    latest_start: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    acts: tuple[str, ...] = ("a", "b")
    failed_passes: tuple[str, ...] = ()
    broken: Exception | None = None
    done: list[str] = field(default_factory=list)
    run_id: str = ""

    def superseded(self, scheduled):
        return self.latest_start > scheduled

    def started(self):
        self.done.append("started")

    def observe(self):
        self.done.append("observe")
        if self.broken:
            raise self.broken
        return self.acts

    def decide(self, observed):
        return Plan(observed)

    def act(self, plan):
        self.done += plan.acts
        return [ActResult(act, "task-1", "it was lost", Outcome.DONE) for act in plan.acts]

    def report(self, plan, results):
        self.done.append("report")
        return Report(self.name, tuple(results), failed_passes=self.failed_passes)


@pytest.fixture
def run(stack):
    """Run an errand as a flow against the real server; gives the final state."""

    def go(errand, *, dry_run=False, make=None):
        def for_run(run_id):
            errand.run_id = run_id
            return errand

        @flow(name="errand")
        async def errand_flow():
            return await run_mission(make or for_run, dry_run=dry_run)

        with temporary_settings({PREFECT_API_URL: stack.url, PREFECT_LOGGING_TO_API_ENABLED: False}):
            state = asyncio.run(errand_flow(return_state=True))
        gc.collect()  # Prefect leaves a socket to the collector: here, where it is ignored, not in some other test
        return state

    return go


@pytest.fixture
def artifact(stack):
    """The rows and the description of a run's one artifact."""

    def read(errand):
        wanted = {"artifacts": {"flow_run_id": {"any_": [errand.run_id]}}}
        (found,) = stack.api.post("/artifacts/filter", json=wanted).raise_for_status().json()
        return found

    return read


def test_the_steps_deadlines_fit_into_every_flows_and_that_into_the_slots_first_lease():
    assert 3 * READ_DEADLINE + ACT_DEADLINE < timedelta(seconds=reaper.timeout_seconds) < timedelta(seconds=240)


def test_a_run_observes_acts_and_reports_in_one_table(run, artifact):
    errand = Errand()
    state = run(errand)
    assert (state.type, state.message) == ("COMPLETED", SUMMARY)
    assert errand.done == ["started", "observe", "a", "b", "report"]
    table = artifact(errand)
    assert (table["key"], table["type"], table["description"]) == ("errand", "table", SUMMARY)
    assert '"why": "it was lost"' in table["data"]


def test_the_mission_is_made_for_the_run_so_that_its_log_entries_name_it(run, stack):
    errand = Errand()
    run(errand)
    assert stack.run(errand.run_id).type == "COMPLETED"


def test_a_dry_run_shows_the_plan_and_stops_before_acting(run, artifact):
    errand = Errand()
    state = run(errand, dry_run=True)
    assert (state.type, state.name) == ("COMPLETED", "DryRun")
    assert errand.done == ["observe"]
    assert '"why": "planned"' in artifact(errand)["data"]


def test_an_empty_table_says_that_nothing_was_due(run, artifact):
    errand = Errand(acts=())
    run(errand)
    assert "nothing was due" in artifact(errand)["data"]


def test_a_failed_pass_fails_the_run_after_everything_was_reported(run, artifact):
    errand = Errand(failed_passes=("queued pass",))
    state = run(errand)
    assert (state.type, state.message) == ("FAILED", "failed: queued pass; all else was done. " + SUMMARY)
    assert errand.done == ["started", "observe", "a", "b", "report"]
    assert artifact(errand)["description"] == SUMMARY


def test_a_late_run_that_another_has_overtaken_is_skipped(run):
    errand = Errand(latest_start=datetime.now(UTC) + timedelta(minutes=1))
    state = run(errand)
    assert (state.type, state.name) == ("COMPLETED", "SkippedStale")
    assert errand.done == []


def test_an_error_of_a_step_fails_the_run_with_its_sentence(run):
    state = run(Errand(broken=StateStoreError("Firestore does not answer; try again")))
    assert (state.type, state.message) == ("FAILED", "Firestore does not answer; try again")


def test_a_wrong_setting_fails_the_run_with_its_sentence(run):
    def make(_):
        raise SettingsError("MOS_PROJECT is not set; set it")

    state = run(Errand(), make=make)
    assert (state.type, state.message) == ("FAILED", "MOS_PROJECT is not set; set it")
