"""The supervisor behind `manage.py up`: starts all in order, keeps it alive, stops it clean."""

import contextlib
import http.client
import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from console import state as folder
from console.broker import socket_url
from console.embedded import Postgres, valkey_command, valkey_socket
from console.logins import OWNER, database_url
from console.processes import Child, Keeper, Supervised

DEFAULT_PORT, LARGEST_PORT = 8000, 65535
READY_SECONDS, PROBE_SECONDS, TICK_SECONDS = 90, 0.5, 0.1
OK = 200
# Files of packages whose pages we do not show.
UNUSED_STATIC = ("rest_framework", "guardian", "account")


class Stopped(Exception):
    """Somebody asked us to stop while we were starting."""


def up(root: Path) -> int:
    """Run the whole stack until SIGINT or SIGTERM; returns the exit code."""
    state = folder.state_dir(root)
    try:
        port = wanted_port()
        folder.make_state_dir(state)
        with folder.held(state):
            return Stack(root, state=state, port=port).run()
    except folder.AlreadyRunning as reason:
        say(f"{reason} Stop that one first, or name another folder with ASCERTAIN_STATE_DIR.")
    except SystemExit as reason:
        say(str(reason))
    return 1


def wanted_port() -> int:
    """PORT, or 8000. Raises SystemExit when it is no port."""
    given = os.environ.get("PORT", str(DEFAULT_PORT))
    if not given.isdecimal() or not 0 < int(given) <= LARGEST_PORT:
        raise SystemExit(f"PORT must be a number from 1 to {LARGEST_PORT}, not {given!r}.")
    return int(given)


def say(words: str) -> None:
    """A line for the person at the terminal, who may have closed it."""
    with contextlib.suppress(OSError):
        print(words, flush=True)


class Stack:
    """Servers and processes of one installation, in the order in which they start."""

    def __init__(self, root: Path, *, state: Path, port: int) -> None:
        self.root, self.state, self.port, self.logs = root, state, port, state / "logs"
        ours = ("DATABASE_URL", "ASCERTAIN_LOGIN")  # no child may inherit another login's URL
        self.inherited = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        self.shared: dict[str, str] = {}
        self.urls = {k: v for k, v in os.environ.items() if k.startswith("DATABASE_URL")}
        self.started: list[Supervised] = []
        self.keepers: list[Keeper] = []
        self.stop_asked = 0
        self.probed_at = 0.0
        self.complained = False

    def run(self) -> int:
        """Start, watch, stop. Returns 0, or 1 when it could not start."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_stop)
        try:
            self._start()
            self._watch()
        except Stopped:
            pass
        except SystemExit as reason:
            say(str(reason))
            return 1
        finally:
            self._stop()
        return 0

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_asked += 1

    def _start(self) -> None:
        self._require_port()
        self.logs.mkdir(mode=0o700, exist_ok=True)
        say(f"Ascertain starts; its state is in {self.state}")
        embedded = self._start_servers()
        folder.remember_environment(self.state, {**self.shared, **self.urls})
        say("Preparing the database and the static files …")
        if not embedded:
            self._manage("db_roles")
        self._manage("migrate", "--noinput", "--verbosity", "0")
        self._manage("sync_contracts")
        ignored = [part for name in UNUSED_STATIC for part in ("--ignore", name)]
        self._manage("collectstatic", "--noinput", "--clear", "--verbosity", "0", *ignored)
        processes = self._processes()
        say("Starting " + ", ".join(child.name for child in processes) + " …")
        for child in processes:
            child.start()
            self._keep(child)

    def _require_port(self) -> None:
        # After a kill -9 the old web process may need a moment to notice and let go.
        unclean = (self.state / folder.ENVIRONMENT).exists()
        until = time.monotonic() + (5 if unclean else 0)
        while not folder.free_port(self.port):
            if time.monotonic() >= until:
                raise SystemExit(
                    f"Port {self.port} is in use by another program. Choose another one: "
                    f"PORT={self.port + 1} python3 manage.py up"
                )
            self._pause()

    def _start_servers(self) -> bool:
        """Start PostgreSQL and Valkey unless told of others; whether the database is ours."""
        embedded = not self.urls.get("DATABASE_URL")
        sandbox = embedded or os.environ.get("ASCERTAIN_SANDBOX") == "1"
        self.provider_port = folder.remembered_port(self.state, "provider") if sandbox else 0
        self.shared = {
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "ASCERTAIN_STATE_DIR": str(self.state),
            "ASCERTAIN_SANDBOX": "1" if sandbox else "0",
            "SECURE": os.environ.get("SECURE", "0"),  # we speak plain HTTP, to this machine alone
            "SECRET_KEY_FILE": str(folder.secret_key_file(self.state)),
            "PORT": str(self.port),
        }
        if sandbox:
            self.shared["SANDBOX_URL"] = f"http://127.0.0.1:{self.provider_port}"
        if embedded:
            postgres = Postgres(self.state)
            self.started.append(postgres)
            postgres.start()
            postgres.make_logins_and_database()
            self.keepers.append(Keeper(postgres))
            self.urls["DATABASE_URL"] = postgres.url(OWNER)
            say(f"PostgreSQL {postgres.version} runs.")
        if redis := os.environ.get("REDIS_URL"):
            self.shared["REDIS_URL"] = redis
        else:
            self.shared["REDIS_URL"] = socket_url(str(valkey_socket(self.state)))
            valkey = self._child("valkey", valkey_command(self.state), env=self.inherited)
            valkey.start()
            self._keep(valkey)
            say("Valkey runs.")
        return embedded

    def _processes(self) -> list[Child]:
        python = sys.executable
        web, worker = self._environment("web", "auth"), self._environment("worker")
        children = [
            self._child(
                "web",
                [python, "-m", "gunicorn", "console.wsgi", "--bind", f"127.0.0.1:{self.port}",
                 "--worker-class", "gthread", "--workers", "2", "--threads", "4",
                 "--timeout", "60", "--graceful-timeout", "10", "--no-control-socket"],
                env=web,
            ),
            # Should we die, the worker is killed, as rows outlive it by design: asked to end while
            # the broker ends too, it would wait for the broker for ever.
            self._child(
                "worker",
                [python, "-m", "celery", "-A", "console.celery", "worker", "--concurrency", "2",
                 "--without-gossip", "--without-mingle", "--loglevel", "INFO"],
                env=worker, death_signal=signal.SIGKILL, grace_seconds=40,
            ),
            # The schedule is fixed, so the clock keeps no file.
            self._child(
                "beat",
                [python, "-m", "celery", "-A", "console.celery", "beat", "--pidfile=",
                 "--scheduler", "celery.beat:Scheduler", "--loglevel", "WARNING"],
                env=self._environment(),
            ),
        ]  # fmt: skip
        if self.provider_port:
            store = self.state / "provider.sqlite3"
            command = [python, "-m", "providers.sandbox", "--port", str(self.provider_port)]
            command += ["--store", str(store), "--control"]
            children.insert(0, self._child("provider", command, env=self.inherited))
            orders = [python, "-m", "django", "orders", "run"]
            children.append(self._child("orders", orders, env=self._environment("workflow")))
        return children

    def _child(
        self,
        name: str,
        command: list[str],
        *,
        env: dict[str, str],
        death_signal: int = signal.SIGTERM,
        grace_seconds: float = 10,
    ) -> Child:
        env = {**env, "PYTHONUNBUFFERED": "1"}
        return Child(
            name, command=command, env=env, log=self.logs / f"{name}.log", folder=self.root,
            death_signal=death_signal, grace_seconds=grace_seconds,
        )  # fmt: skip

    def _environment(self, *logins: str) -> dict[str, str]:
        """What a process of these logins is told: the first is its own, and no URL but theirs."""
        urls = {f"DATABASE_URL_{login.upper()}": database_url(login, self.urls) for login in logins}
        own = {"ASCERTAIN_LOGIN": logins[0]} if logins else {}
        return {**self.inherited, **self.shared, **own, **urls}

    def _owner_environment(self) -> dict[str, str]:
        return {**self.inherited, **self.shared, **self.urls}

    def _keep(self, child: Child) -> None:
        self.started.append(child)
        self.keepers.append(Keeper(child))
        self._remember_processes()

    def _manage(self, *arguments: str) -> None:
        """Run a command of manage.py to its end. Raises SystemExit with its words if it failed."""
        command = [sys.executable, str(self.root / "manage.py"), *arguments]
        log = self.logs / f"{arguments[0]}.log"
        log.unlink(missing_ok=True)
        child = self._child(arguments[0], command, env=self._owner_environment())
        self._begin(child)
        while not child.has_died():
            self._pause()
        self._end(child)
        if child.exit_code:
            words = log.read_text(errors="replace")[-2000:]
            raise SystemExit(f"`manage.py {arguments[0]}` failed:\n{words}")

    def _pause(self) -> None:
        if self.stop_asked:
            raise Stopped
        time.sleep(TICK_SECONDS)

    def _watch(self) -> None:
        until = time.monotonic() + READY_SECONDS
        ready, seed, fill = False, None, None
        while True:
            self._tend()
            if not ready and self._answers(until):
                ready, seed = True, self._start_seed()
            if seed and seed.has_died():
                self._say_ready(seed)
                seed, fill = None, self._start_fill()
            if fill and fill.has_died():
                self._end(fill)
                fill = None
            self._pause()

    def _tend(self) -> None:
        for keeper in self.keepers:
            name = keeper.child.name
            try:
                happened = keeper.tend()
            except SystemExit as reason:  # PostgreSQL did not come back; its keeper tries again
                say(str(reason))
                continue
            if happened == "died":
                say(f"{name} ended unasked; it is started again. Its log: {self.logs}/{name}.log")
            if happened == "restarted":
                self._remember_processes()

    def _answers(self, until: float) -> bool:
        """Whether /readyz says so; asked twice a second, and complained about once when late."""
        now = time.monotonic()
        if now - self.probed_at < PROBE_SECONDS:
            return False
        self.probed_at = now
        status, reasons = readiness(self.port)
        if status != OK and now > until and not self.complained:
            self.complained = True
            say(f"Not ready after {READY_SECONDS} s: {reasons} The logs are in {self.logs}")
        return status == OK

    def _start_seed(self) -> Child | None:
        """Fill an empty demonstration; what it says, the sample accounts, goes to our output."""
        if not self.provider_port:
            self._say_address()
            return None
        command = [sys.executable, str(self.root / "manage.py"), "seed"]
        env = {**self._owner_environment(), "PYTHONUNBUFFERED": "1"}
        say("All parts work; looking at the demonstration data …")
        return self._begin(Child("seed", command=command, env=env, log=None, folder=self.root))

    def _start_fill(self) -> Child:
        """Play the demonstration's orders beside us; one cut short goes on at the next start."""
        command = [sys.executable, str(self.root / "manage.py"), "seed", "--fill"]
        env = self._environment("workflow", "web", "auth")  # it plays the operator's part too
        return self._begin(self._child("fill", command, env=env))

    def _begin(self, child: Child) -> Child:
        """Start something that will end by itself."""
        child.start()
        self.started.append(child)
        self._remember_processes()
        return child

    def _end(self, child: Child) -> None:
        """Forget what ended by itself."""
        self.started.remove(child)
        self._remember_processes()

    def _say_ready(self, seed: Child) -> None:
        self._end(seed)
        if seed.exit_code:
            say(f"The demonstration data could not be made: exit code {seed.exit_code}.")
        self._say_address()

    def _say_address(self) -> None:
        say(f"Ready: http://127.0.0.1:{self.port}/ (Ctrl-C stops it; logs in {self.logs})")

    def _remember_processes(self) -> None:
        """Write who runs: the demonstration's crashes are real and aim at one of these."""
        running = {child.name: child.process_id for child in self.started}
        folder.remember_processes(self.state, running)

    def _stop(self) -> None:
        """Stop all, the last started first; a second request to stop shortens the wait."""
        if not self.started:
            return
        say("Stopping …")
        folder.forget(self.state)
        for child in reversed(self.started):
            child.stop(hurried=lambda: self.stop_asked > 1)
        say("Stopped.")


def readiness(port: int) -> tuple[int, str]:
    """The status of /readyz (0: no answer) and, if it is not 200, the reasons it gives."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        parts = json.loads(answer.read()).get("parts", {})
    except (OSError, ValueError, http.client.HTTPException):
        return 0, "web does not answer."
    finally:
        connection.close()
    return answer.status, " ".join(part["reason"] for part in parts.values() if not part["ok"])
