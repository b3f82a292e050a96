"""`manage.py up` as a process of its own, from outside: start it, ask it, stop it, find orphans."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers import ROOT, wait_until

READY_SECONDS = 240


class Up:
    """One `manage.py up` on a state folder and port of its own."""

    def __init__(self, state: Path, *, port: int) -> None:
        self.state, self.port = state, port
        self.log = state.with_name(f"{state.name}.log")
        kept = ("PATH", "HOME", "LANG", "TMPDIR", "ASCERTAIN_PG_BIN", "ASCERTAIN_OS_USER")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env |= {"ASCERTAIN_STATE_DIR": str(state), "PORT": str(port)}
        self.process: subprocess.Popen[bytes] | None = None
        self.sessions: set[int] = set()

    def start(self) -> "Up":
        """Start it and wait for its last line."""
        with open(self.log, "wb") as log:
            command = [sys.executable, "manage.py", "up"]
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self.is_started, timeout_seconds=READY_SECONDS, what="`up` being ready")
        self.remember_sessions()
        return self

    def is_started(self) -> bool:
        """Whether it said so; fails the test when it ended instead."""
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return "Ready: " in self.said() and self.status() == 200

    def said(self) -> str:
        """What it printed."""
        return self.log.read_text()

    def readiness(self) -> dict[str, Any]:
        """The body of /readyz, with its status; empty if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return {**json.loads(answer.read()), "status": answer.status}
        except (OSError, ValueError, http.client.HTTPException):
            return {}
        finally:
            connection.close()

    def status(self) -> int:
        """The status of /readyz, 0 if nobody answers."""
        return int(self.readiness().get("status", 0))

    def running(self) -> dict[str, int]:
        """The process number of each part."""
        return dict(json.loads((self.state / "processes.json").read_text()))

    def remember_sessions(self) -> None:
        """Note the sessions of all parts: what is left of them later is an orphan."""
        assert self.process is not None
        self.sessions |= {self.process.pid, *self.running().values()}

    def left(self) -> list[str]:
        """The processes that are left of every session ever noted, zombies apart."""
        return [line for number, line in processes() if number in self.sessions]

    def ask_to_stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(90)

    def kill(self) -> None:
        """kill -9 of the supervisor alone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def manage(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Another manage.py beside it, in the same environment but for `env`."""
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT, env={**self.env, **env}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip


def processes() -> Iterator[tuple[int, str]]:
    """Session number and a line of words for every living process."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_text()
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state, _, _, session = stat.rpartition(")")[2].split()[:4]
            if state != "Z":
                yield int(session), f"{folder.name} {words or stat[:40]}"


@contextlib.contextmanager
def running(state: Path, *, port: int) -> Iterator[Up]:
    """A running stack, stopped and searched for orphans at the end."""
    stack = Up(state, port=port)
    try:
        yield stack.start()
    finally:
        if stack.process and stack.process.poll() is None:
            stack.ask_to_stop()
        wait_until(lambda: not stack.left(), what=stack.left)
