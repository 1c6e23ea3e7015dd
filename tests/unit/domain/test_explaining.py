"""Why a job does not move: the item, its owner, what happens and when, and the rung of the ladder."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.explaining import RUNGS, Explanation, explain
from mos.domain.model import Send
from tests.builders import NOW, ago, ahead, error, incident, job, lease, policy, task

UNSENT = Send(state="unsent", at=ago(minutes=2))
SENT = Send(state="sent", at=ago(hours=2))
ENDED = lease(ends=ago(minutes=5))
OLD = {"queued_at": ago(hours=2), "send": SENT}


def why(*tasks: Any, of: Any = None, depth: int | None = None, **more: Any) -> Explanation:
    depths = {} if depth is None else {"mos-upscale": depth}
    return explain(of or job(), tasks, now=NOW, policy=policy(), depths=depths, **more)


@pytest.mark.parametrize(
    ("found", "depth", "says", "what", "rung"),
    [
        (task("queued"), None, "queued for 0 s, attempt 0", "claims it", None),
        (task("queued", queued_at=ago(minutes=2), send=UNSENT), 0, "not sent yet", "is sent", 3),
        (
            task("queued", not_before=ahead(minutes=1), failures=1, error=error()),
            0,
            "failure 1: late",
            "again at",
            None,
        ),
        (task("queued", **OLD), 90, "90 messages wait in its queue: it is late, not lost", "in its turn", None),
        (task("queued", **OLD), 0, "its message is lost", "same attempt is sent again", 3),
        (task("queued", **OLD), None, "past its pickup time", "if its message is lost", 3),
        (task("running"), 0, "running for 4 min, execution 1", "its worker finishes it", None),
        (task("running", lease=ENDED), 5, "its lease ended 5 min ago", "takes it over", 2),
        (task("running", lease=ENDED), None, "its lease ended", "takes it over", 2),
        (task("running", lease=ENDED), 0, "its queue is empty", "a new attempt", 3),
        (task("queued", step_type="unheard_of"), None, "no step unheard_of", "is failed", 6),
    ],
)
def test_a_task_says_what_holds_it_up(found: Any, depth: int | None, says: str, what: str, rung: int | None) -> None:
    answer = why(found, depth=depth)
    assert (answer.item, answer.owner, answer.rung) == (found.id, "reaper", rung)
    assert says in answer.state
    assert what in answer.what


def test_what_is_overdue_comes_before_what_is_not() -> None:
    late = task("running", id="late", lease=ENDED, check_at=ago(minutes=3))
    fine = task("queued", id="fine", check_at=ahead(minutes=3))
    assert [why(*order).item for order in ((late, fine), (fine, late))] == ["late", "late"]
    assert why(late).when == "at the next tick (due for 3 min)"
    assert why(fine).when == "in 3 min, at 01:33:00 UTC"


@pytest.mark.parametrize(
    ("of", "owner", "says", "rung"),
    [
        (job("completed"), "nobody", "all its tasks are completed", None),
        (job("pending"), "dispatch", "waits for a free slot", None),
        (job("processing"), "stalled-jobs", "nothing runs or waits in a queue; 0 of 0", 6),
        (job("cancelled"), "nobody", "it was cancelled", None),
        (job("failed", error=error()), "production-retry", "provider_timeout", 4),
        (
            job("failed", error=error(), production_incident=incident("operator_required")),
            "a person",
            "operator_required",
            5,
        ),
    ],
)
def test_a_job_says_whose_it_is(of: Any, owner: str, says: str, rung: int | None) -> None:
    answer = why(of=of)
    assert (answer.owner, answer.rung) == (owner, rung)
    assert says in f"{answer.state} {answer.what}"


def test_a_cancelled_job_waits_for_dispatch_while_tasks_are_open() -> None:
    answer = why(task("running"), task("completed", id="done"), of=job("cancelled"))
    assert (answer.owner, answer.state, answer.rung) == ("dispatch", "1 of its tasks are open", None)


def test_a_paused_system_and_a_broken_document_wait_for_a_person() -> None:
    paused = why(of=job("pending"), paused=True)
    assert (paused.owner, paused.state) == ("a person", "production is paused")
    assert why(of=job("pending", kind="voice_training"), paused=True).owner == "dispatch"
    broken = why(unreadable=["tasks/x"])
    assert (broken.item, broken.owner, broken.rung) == ("tasks/x", "a person", 5)
    assert why(task("running"), unreadable=["tasks/x"]).owner == "reaper"


@pytest.mark.parametrize("rung", sorted(RUNGS))
def test_the_text_names_the_rung(rung: int) -> None:
    text = Explanation("j", "processing", "t", "s", "o", "w", "now", rung).text()
    assert text.startswith("j is processing")
    assert f"{rung} – {RUNGS[rung]}" in text
