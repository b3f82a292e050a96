"""manage.py: an environment that is whole or made anew, and clear words where it cannot go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import manage
from console.logins import LOGINS
from tests.servers import ROOT


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty environment in place of the real one."""
    monkeypatch.setattr(manage, "VENV", tmp_path)
    monkeypatch.setattr(manage, "UNFINISHED", tmp_path / ".unfinished")
    return tmp_path


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """manage.py with `env` and nothing of ours."""
    bare = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        env={**bare, **env}, cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_an_environment_without_a_stamp_is_not_current(venv: Path) -> None:
    assert not manage.is_current("run")


def test_an_environment_of_another_lock_is_not_current(venv: Path) -> None:
    (venv / ".run").write_text("another digest")
    assert not manage.is_current("run")


def test_a_larger_kind_will_do_for_a_smaller_one(venv: Path) -> None:
    (venv / ".lint").write_text(manage.lock_digest("lint"))
    assert [manage.is_current(kind) for kind in manage.KINDS] == [True, True, True]


def test_a_smaller_kind_will_not_do_for_a_larger_one(venv: Path) -> None:
    (venv / ".run").write_text(manage.lock_digest("run"))
    assert [manage.is_current(kind) for kind in manage.KINDS] == [True, False, False]


def test_an_installation_that_was_killed_is_not_current(venv: Path) -> None:
    (venv / ".run").write_text(manage.lock_digest("run"))
    (venv / ".unfinished").touch()
    assert not manage.is_current("run")


def test_the_interpreter_of_a_broken_environment_is_not_usable(venv: Path) -> None:
    assert not manage.is_usable(venv / "python")
    assert not manage.is_usable(Path(manage.base_python()))
    assert manage.is_usable(Path(sys.executable))


def test_commands_take_logins_that_exist() -> None:
    assert set(manage.LOGINS.values()) <= set(LOGINS)


def test_a_command_says_so_when_nothing_runs(tmp_path: Path) -> None:
    done = run("showmigrations", ASCERTAIN_STATE_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "Nothing is running here. Start `python3 manage.py up`" in done.stderr


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_refused(port: str, tmp_path: Path) -> None:
    done = run("up", ASCERTAIN_STATE_DIR=str(tmp_path), PORT=port)
    assert done.returncode == 1
    assert "PORT must be a number from 1 to 65535" in done.stdout


def test_the_logins_can_be_printed_without_a_server(tmp_path: Path) -> None:
    done = run("db_roles", "--print", ASCERTAIN_STATE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for name in LOGINS:
        assert f"create role ascertain_{name} login nosuperuser" in done.stdout
