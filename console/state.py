"""The state folder of `up`: where it is, who holds it, and what it remembers."""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT = "env.json"  # how to reach the running servers
PROCESSES = "processes.json"  # who runs, by name
LOCK = "lock"
LONGEST_SOCKET_PATH_BYTES = 100  # the kernel's limit is 104 or 108, by system


class AlreadyRunning(Exception):
    """Another `up` holds the state folder."""


def state_dir(root: Path) -> Path:
    """ASCERTAIN_STATE_DIR, else .state beside manage.py.

    For root below a folder closed to others, one that the database's account can enter.
    """
    if given := os.environ.get("ASCERTAIN_STATE_DIR"):
        return Path(given).absolute()
    local = root / ".state"
    closed = any(not folder.stat().st_mode & 0o001 for folder in [root, *root.parents])
    if os.geteuid() == 0 and closed:
        return Path("/var/lib") / f"ascertain-{short_digest(local)}"
    return local


def short_digest(path: Path) -> str:
    """Ten hex digits that stand for a path where its name would be too long."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:10]


def make_state_dir(state: Path) -> None:
    """Make the folder: closed to others, save that root's database account may pass through."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        state.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except PermissionError:
        raise SystemExit(
            f"{state} belongs to another account. Name a folder of your own: "
            "ASCERTAIN_STATE_DIR=FOLDER python3 manage.py up"
        ) from None


@contextlib.contextmanager
def held(state: Path) -> Iterator[None]:
    """Hold the folder as the one running stack. Raises AlreadyRunning."""
    with open(os.open(state / LOCK, os.O_RDWR | os.O_CREAT, 0o600)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(f"{state} is in use by a running `up`.") from None
        yield


def is_held(state: Path) -> bool:
    """Whether an `up` runs on this folder."""
    try:
        with open(state / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no folder, no lock file, or not ours to read
        return False
    return False


def running_environment(root: Path) -> dict[str, str]:
    """The settings of the stack that runs on this checkout's state folder; empty if none does."""
    state = state_dir(root)
    try:
        return json.loads((state / ENVIRONMENT).read_text()) if is_held(state) else {}
    except FileNotFoundError:  # it runs, but its servers are not up yet
        return {}


def remember_environment(state: Path, environment: dict[str, str]) -> None:
    """Write what running_environment returns, readable by its owner alone."""
    write_private(state / ENVIRONMENT, json.dumps(environment, indent=1))


def running_processes(root: Path) -> dict[str, int]:
    """The process number of each part of the running stack, by name; empty if none runs."""
    state = state_dir(root)
    try:
        return json.loads((state / PROCESSES).read_text()) if is_held(state) else {}
    except FileNotFoundError:
        return {}


def remember_processes(state: Path, processes: dict[str, int]) -> None:
    """Write what running_processes returns."""
    write_private(state / PROCESSES, json.dumps(processes))


def forget(state: Path) -> None:
    """Take back what was said of a running stack."""
    for name in (ENVIRONMENT, PROCESSES):
        (state / name).unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file whole, mode 0600 from its first byte."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def secret_key_file(state: Path) -> Path:
    """The file that holds this installation's own signing key, made on first use."""
    path = state / "secret-key"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(50))
    return path


def remembered_port(state: Path, name: str) -> int:
    """A free loopback port for `name`; the one of the last time if it is still free."""
    path = state / f"{name}-port"
    wanted = int(path.read_text()) if path.exists() else 0
    port = free_port(wanted) or free_port(0)
    path.write_text(str(port))
    return port


def free_port(wanted: int) -> int:
    """`wanted` if it can be listened on at 127.0.0.1, else 0; any free port when `wanted` is 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
        return int(probe.getsockname()[1])


def socket_folder(state: Path, name: str, *, owner: int) -> Path:
    """A 0700 folder of `owner` (uid) for sockets: state/NAME, or a short one if that is too long.

    Raises SystemExit when somebody else's folder stands in the short one's place.
    """
    folder = state / name
    if len(os.fsencode(folder / ".s.PGSQL.5432.lock")) > LONGEST_SOCKET_PATH_BYTES:
        short = f"ascertain-{os.geteuid()}-{short_digest(state)}-{name}"
        folder = Path(tempfile.gettempdir()) / short
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise SystemExit(f"{folder} belongs to another account; remove it, or set TMPDIR.")
    if found.st_uid != owner:
        os.chown(folder, owner, -1)
    folder.chmod(0o700)
    return folder
