"""Children end with their parent, take their groups along, and come back ever more slowly."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.processes import Child, Keeper, open_log
from tests.servers import ROOT, wait_until

ECHO = [sys.executable, "-c", "print('here', flush=True)"]
WAIT = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]
DEAF = [
    sys.executable,
    "-c",
    "import signal as s; s.signal(s.SIGTERM, s.SIG_IGN); print('up', flush=True); s.pause()",
]
PARENT_OF_ONE = [
    sys.executable,
    "-c",
    "import subprocess as p, signal; c = p.Popen(['sleep', '600']); "
    "print(c.pid, flush=True); signal.pause()",
]


def child(tmp_path: Path, *, command: list[str], grace_seconds: float = 5) -> Child:
    """A started child that has printed its first line."""
    made = Child(
        "child", command=command, env=dict(os.environ), log=tmp_path / "log", folder=ROOT,
        grace_seconds=grace_seconds,
    )  # fmt: skip
    made.start()
    wait_until((tmp_path / "log").read_text, what="the first line")
    return made


def lives(number: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_child_is_asked_before_it_is_killed(tmp_path: Path) -> None:
    asked = child(tmp_path, command=WAIT)
    asked.stop()
    assert asked.exit_code == -signal.SIGTERM


def test_a_child_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    deaf = child(tmp_path, command=DEAF, grace_seconds=0.2)
    deaf.stop()
    assert deaf.exit_code == -signal.SIGKILL


def test_a_hurry_shortens_the_grace(tmp_path: Path) -> None:
    deaf, before = child(tmp_path, command=DEAF, grace_seconds=60), time.monotonic()
    deaf.stop(hurried=lambda: True)
    assert (deaf.exit_code, time.monotonic() - before < 5) == (-signal.SIGKILL, True)


def test_what_a_dead_child_left_running_is_killed(tmp_path: Path) -> None:
    parent = child(tmp_path, command=PARENT_OF_ONE)
    orphan = int((tmp_path / "log").read_text())
    assert lives(orphan)
    os.kill(parent.process_id, signal.SIGKILL)
    wait_until(parent.has_died, what="the parent's end")
    wait_until(lambda: not lives(orphan), what="the orphan's end")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent death signal is Linux's")
def test_a_child_ends_with_its_parent_however_that_ends(tmp_path: Path) -> None:
    code = (
        "import os, sys, signal; from pathlib import Path; from console.processes import Child; "
        f"c = Child('c', command={WAIT!r}, env=dict(os.environ), log=None, folder=Path('.')); "
        "c.start(); print(c.process_id, flush=True); signal.pause()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    assert lives(number)
    parent.kill()
    parent.wait(10)
    wait_until(lambda: not lives(number), what="the child's end")
    parent.stdout.close()


class Mayfly:
    """A part that is always dead; counts its starts."""

    name, process_id, restarts = "mayfly", 0, 0

    def has_died(self) -> bool:
        """Always."""
        return True

    def restart(self) -> None:
        """Count."""
        self.restarts += 1

    def stop(self, *, hurried: object) -> None:
        """Nothing to do."""


def test_what_keeps_dying_is_started_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("console.processes.time.monotonic", lambda: now)
    keeper, waits = Keeper(Mayfly()), []
    for _ in range(9):
        assert keeper.tend() == "died"
        assert keeper.again_at is not None
        waits.append(keeper.again_at - now)
        assert keeper.tend() == ""
        now = keeper.again_at
        assert keeper.tend() == "restarted"
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    now += 61
    keeper.tend()
    assert keeper.again_at == now + 0.5


def test_a_large_log_is_put_aside(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"x" * 5_000_001)
    os.close(open_log(log))
    assert log.stat().st_size == 0
    assert (tmp_path / "x.log.1").stat().st_size == 5_000_001
