"""The real nexrender server and core; skipped, with the reason, only where npm or its packages cannot be had."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mos.clients.nexrender import Accepted, Nexrender
from mos.domain.rendering import FarmRecord, Known
from mos.local.farm.install import install
from mos.local.farm.testing import Farm, running_farm, wait_until
from mos.local.supervisor import StackError
from mos.runtime import SystemRuntime

_numbers = itertools.count(1)


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    try:
        install()
    except StackError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A farm with one worker, for all tests that leave it as it was."""
    with running_farm(tmp_path_factory.mktemp("farm"), "i-0main") as farm:
        yield farm


@pytest.fixture(scope="session")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A server without workers: what is submitted stays queued."""
    with running_farm(tmp_path_factory.mktemp("idle")) as farm:
        yield farm


@pytest.fixture
def own_farm(tmp_path: Path) -> Iterator[Callable[..., Farm]]:
    """Farms of this test alone, to be killed and emptied."""
    with ExitStack() as stack:
        yield lambda *workers: stack.enter_context(running_farm(tmp_path / f"farm{next(_numbers)}", *workers))


@pytest.fixture
def client_of() -> Iterator[Callable[[Farm], Nexrender]]:
    """Our client for a farm."""
    with ExitStack() as stack:
        yield lambda farm: stack.enter_context(Nexrender(farm.url, farm.secret, runtime=SystemRuntime()))


@pytest.fixture
def uid() -> str:
    return f"uid-{next(_numbers)}"


@pytest.fixture
def record_of(client_of: Callable[[Farm], Nexrender]) -> Callable[[Farm, str], FarmRecord]:
    """The record of a job that the farm must have."""

    def read(farm: Farm, uid: str) -> FarmRecord:
        answer = client_of(farm).get(uid)
        assert isinstance(answer, Known), answer
        return answer.record

    return read


@pytest.fixture
def rendered(client_of: Callable[[Farm], Nexrender], tmp_path: Path) -> Callable[..., FarmRecord]:
    """Submit a job with a behaviour and wait for its end."""

    def run(farm: Farm, uid: str, output: Path | None = None, **options: Any) -> FarmRecord:
        client = client_of(farm)
        job = options.pop("job", None) or farm.job(uid, output=output, **options)
        assert isinstance(client.submit(job), Accepted)

        def ended() -> bool:
            answer = client.get(uid)
            return isinstance(answer, Known) and answer.record.terminal

        wait_until(ended, f"{uid} did not end")
        answer = client.get(uid)
        assert isinstance(answer, Known)
        return answer.record

    return run


@pytest.fixture
def wait() -> Callable[..., None]:
    return wait_until
