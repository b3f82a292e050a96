"""`manage.py up`: one at a time, what dies comes back, and nothing is left behind."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from console.state import free_port
from tests.running import Up, running
from tests.servers import wait_until

pytestmark = [
    pytest.mark.stack,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc"),
]

PARTS = ("PostgreSQL", "valkey", "provider", "web", "worker", "beat", "orders")


@pytest.fixture(scope="module")
def state(server_folder: Path) -> Path:
    """A state folder whose first `up` makes the database and all later ones find it."""
    return server_folder / "up state"


@pytest.fixture(scope="module")
def port() -> int:
    """A free port."""
    return free_port(0)


@pytest.fixture
def up(state: Path, port: int) -> Iterator[Up]:
    """A stack for one test, which may end it."""
    with running(state, port=port) as stack:
        yield stack


@pytest.fixture(scope="class")
def shared(state: Path, port: int) -> Iterator[Up]:
    """A stack for the tests of one class, which leave it running."""
    with running(state, port=port) as stack:
        yield stack


def is_fresh(readiness: dict[str, Any], *, since: float) -> bool:
    """Whether all parts work, and the worker did something after `since` (monotonic seconds)."""
    if readiness.get("status") != 200:
        return False
    return bool(readiness["parts"]["worker"]["age_seconds"] < time.monotonic() - since)


class TestWhileItRuns:
    """What holds while one stack runs."""

    @pytest.mark.parametrize("name", PARTS)
    def test_what_dies_comes_back(self, shared: Up, name: str) -> None:
        old, killed_at = shared.running()[name], time.monotonic()
        os.kill(old, signal.SIGKILL)

        def is_back() -> bool:
            again = shared.running().get(name, old) != old
            return again and is_fresh(shared.readiness(), since=killed_at)

        wait_until(is_back, timeout_seconds=60, what=f"{name} coming back after kill -9")
        shared.remember_sessions()
        assert f"{name} ended unasked" in shared.said()

    def test_a_running_stack_is_left_alone(self, shared: Up) -> None:
        second = shared.manage("up", PORT=str(free_port(0)))
        assert second.returncode == 1
        assert "is in use by a running `up`" in second.stdout
        elsewhere = str(shared.state.with_name("other state"))
        busy = shared.manage("up", ASCERTAIN_STATE_DIR=elsewhere)
        assert busy.returncode == 1
        assert f"Port {shared.port} is in use by another program" in busy.stdout
        assert shared.status() == 200

    def test_each_process_is_told_its_own_logins_url_and_no_other(self, shared: Up) -> None:
        told = {
            name: {
                item.split("=")[0]
                for item in Path(f"/proc/{number}/environ").read_text().split("\0")
                if item.startswith(("DATABASE_URL", "ASCERTAIN_LOGIN"))
            }
            for name, number in shared.running().items()
            if name in PARTS[1:]  # PostgreSQL itself has nobody's URL to tell
        }
        assert told == {
            "web": {"ASCERTAIN_LOGIN", "DATABASE_URL_WEB", "DATABASE_URL_AUTH"},
            "worker": {"ASCERTAIN_LOGIN", "DATABASE_URL_WORKER"},
            "orders": {"ASCERTAIN_LOGIN", "DATABASE_URL_WORKFLOW"},
            "beat": set(),
            "provider": set(),
            "valkey": set(),
        }

    def test_what_the_state_folder_remembers_is_private(self, shared: Up) -> None:
        for name in ("env.json", "processes.json", "secret-key", "lock"):
            assert (shared.state / name).stat().st_mode & 0o077 == 0, name

    def test_other_commands_reach_the_running_stack(self, shared: Up) -> None:
        ask = "from django.db import connection as c; k = c.cursor(); k.execute('{}'); {}"
        code = ask.format("select session_user", "print(k.fetchone())")
        done = shared.manage("shell", "--no-imports", "-c", code)
        assert "('ascertain_owner',)" in done.stdout, done.stderr
        url = json.loads((shared.state / "env.json").read_text())["DATABASE_URL"]
        with psycopg.connect(url) as owner:
            powers = owner.execute(
                "select rolsuper from pg_roles where rolname = session_user"
            ).fetchone()
        assert powers == (False,)


def test_a_stop_is_clean_and_leaves_nothing(up: Up) -> None:
    assert up.ask_to_stop() == 0
    assert up.said().rstrip().endswith("Stopped.")
    wait_until(lambda: not up.left(), timeout_seconds=5, what=up.left)
    assert not (up.state / "env.json").exists()
    after = up.manage("showmigrations")
    assert after.returncode != 0
    assert "Nothing is running here" in after.stderr


def test_a_killed_supervisor_leaves_nothing_and_can_be_started_again(up: Up) -> None:
    up.kill()
    wait_until(lambda: not up.left(), timeout_seconds=30, what=up.left)
    assert "Nothing is running here" in up.manage("showmigrations").stderr
    up.start()
    assert up.status() == 200
