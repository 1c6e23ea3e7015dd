"""The farm as parts of the local stack, and its installation."""

import os
import subprocess
import sys

import psutil
import pytest

from mos.local.farm import install
from mos.local.farm.behaviour import Act, Behaviour, Script
from mos.local.farm.parts import FarmOptions, parts
from mos.local.farm.testing import Farm
from mos.local.supervisor import StackError, Supervisor, free_port

pytestmark = pytest.mark.xdist_group("farm")


def test_the_supervisor_runs_the_farm_and_ends_after_effects_too(tmp_path, uid, client_of, wait):
    options = FarmOptions(state=tmp_path / "state", port=free_port(), workers=("i-0a",), polling_ms=50)
    script = Script(options.script)
    script.for_uid(uid, Behaviour(act=Act.HANG))
    described = Farm(tmp_path)
    described.url, described.secret = options.url, options.addresses["NEXRENDER_SECRET"]
    options.state.mkdir(exist_ok=True)
    with Supervisor(parts(options), options.state) as supervisor:
        record = supervisor.status()
        assert {part.name for part in record.parts} == {"farm-server", "render-i-0a"}
        client_of(described).submit(described.job(uid, output=tmp_path / "out.mp4"))
        wait(lambda: bool(script.journal()), "After Effects hangs")
        aerender = psutil.Process(script.journal()[0].pid)
        supervisor.stop()
    assert not aerender.is_running() or aerender.status() == psutil.STATUS_ZOMBIE


def test_no_registry_is_one_sentence(tmp_path, monkeypatch):
    """Nothing half-installed stays behind."""
    monkeypatch.setenv(install.HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{free_port()}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    with pytest.raises(
        StackError, match=r"^the render farm needs npm packages once, and npm cannot reach its registry"
    ):
        install.install()
    assert [path.suffix for path in (tmp_path / "home").iterdir()] == [".lock"]


def test_what_is_installed_needs_no_network(monkeypatch):
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{free_port()}/")
    assert install.install() == install.farm_home() / "node_modules"


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(install.HOME_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(StackError, match="MOS_FARM_HOME"):
        install.install()


def test_the_command_line_reports_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = subprocess.run(
        [sys.executable, "-m", "mos.local.farm", "install"],
        env={**os.environ, install.HOME_VARIABLE: str(tmp_path / "file")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 69
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_the_lock_file_names_no_address():
    """Whose registry it is, is npm's setting."""
    assert '"resolved"' not in (install._SOURCE / "package-lock.json").read_text()
