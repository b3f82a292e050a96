"""Child processes that end with their parent, and come back when they die."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

PR_SET_PDEATHSIG = 1
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.5, 30.0
SETTLED_AFTER_SECONDS = 60.0
LARGEST_LOG_BYTES = 5_000_000


def die_with_parent(death_signal: int, *, parent: int | None = None) -> Callable[[], None]:
    """A preexec_fn: the kernel sends the signal to the child when its parent dies, however it dies.

    Linux only; elsewhere it does nothing. The signal follows the *thread* that forks: start
    children from the main thread. It must run after any change of user, which forgets it.
    """
    expected = parent or os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def run() -> None:
        if libc is None:
            return
        libc.prctl(PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != expected:  # it died before the kernel was told
            os._exit(1)

    return run


class Supervised(Protocol):
    """What the supervisor keeps alive."""

    name: str

    @property
    def process_id(self) -> int: ...
    def has_died(self) -> bool: ...
    def restart(self) -> None: ...
    def stop(self, *, hurried: Callable[[], bool]) -> None: ...


class Child:
    """One process in a group of its own, its output in a log file."""

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path | None,
        folder: Path,
        death_signal: int = signal.SIGTERM,
        grace_seconds: float = 10,
    ) -> None:
        self.name, self.command, self.env, self.log, self.folder = name, command, env, log, folder
        self.death_signal, self.grace_seconds = death_signal, grace_seconds
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its output is added to its log, or goes to ours where it has none."""
        output = open_log(self.log) if self.log else None
        try:
            self.process = subprocess.Popen(
                self.command, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
                preexec_fn=die_with_parent(self.death_signal),  # noqa: PLW1509 - no threads here
            )  # fmt: skip
        finally:
            if output is not None:
                os.close(output)

    def has_died(self) -> bool:
        """Whether it ended; if so, what it left running in its group is killed."""
        if self.process is None:
            return False
        if self.process.returncode is None and ended(self.process.pid):
            # Before the process is reaped its number cannot be given to a stranger.
            kill_group(self.process.pid)
        return self.process.poll() is not None

    def restart(self) -> None:
        """Start it again after it died."""
        self.start()

    @property
    def process_id(self) -> int:
        """Its number; 0 before it was started."""
        return self.process.pid if self.process else 0

    @property
    def exit_code(self) -> int | None:
        """How it ended, as Popen says it; None while it runs."""
        return self.process.returncode if self.process else None

    def stop(self, *, hurried: Callable[[], bool] = lambda: False) -> None:
        """Ask it to end, wait for its grace (or until `hurried`), then kill its whole group."""
        if self.process is None or self.has_died():
            return
        self.process.terminate()
        until = time.monotonic() + self.grace_seconds
        while not self.has_died() and time.monotonic() < until and not hurried():
            time.sleep(0.02)
        if not self.has_died():
            kill_group(self.process.pid)
            self.process.wait()


class Keeper:
    """Starts what died again: after 0.5 s, doubling to 30 s, anew once it lived for a minute."""

    def __init__(self, child: Supervised) -> None:
        self.child = child
        self.delay_seconds = FIRST_DELAY_SECONDS
        self.started_at = time.monotonic()
        self.again_at: float | None = None

    def tend(self) -> str:
        """Look after the child; returns "died", "restarted" or, when nothing happened, ""."""
        now = time.monotonic()
        if self.again_at is not None:
            return self._restart() if now >= self.again_at else ""
        if not self.child.has_died():
            return ""
        if now - self.started_at >= SETTLED_AFTER_SECONDS:
            self.delay_seconds = FIRST_DELAY_SECONDS
        self.again_at = now + self.delay_seconds
        self.delay_seconds = min(self.delay_seconds * 2, LONGEST_DELAY_SECONDS)
        return "died"

    def _restart(self) -> str:
        self.again_at = None
        self.started_at = time.monotonic()
        self.child.restart()
        return "restarted"


def ended(pid: int) -> bool:
    """Whether our child ended; it stays unreaped."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def kill_group(group: int) -> None:
    """Kill every process of the group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all gone; macOS says so for a zombie
        pass


def open_log(path: Path) -> int:
    """A log opened for adding to; one that grew large is put aside first, replacing the last."""
    if path.exists() and path.stat().st_size > LARGEST_LOG_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
