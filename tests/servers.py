"""The real servers and processes that tests run against, each ended with the session."""

import http.client
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis
from kombu import pools
from psycopg.conninfo import make_conninfo

from console import logins
from console.broker import broker_url, socket_url
from console.celery import app
from console.embedded import Postgres, valkey_command, valkey_socket
from console.processes import Child
from console.state import free_port

ROOT = Path(__file__).resolve().parent.parent


def wait_until(
    condition: Callable[[], Any], *, timeout_seconds: float = 30, what: object = "the condition"
) -> Any:
    """Ask again and again until the answer is true; returns it. Fails the test when too late.

    `what` names it for a person; a function is asked for the words when it is too late.
    """
    until = time.monotonic() + timeout_seconds
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > until:
            words = what() if callable(what) else what
            raise AssertionError(f"{words} did not come true within {timeout_seconds} s")
        time.sleep(0.05)


@dataclass
class DatabaseServer:
    """A PostgreSQL for one session: our own, or the superuser's TEST_DATABASE_URL.

    A given server must let the logins in without a password, as a throwaway one in CI does.
    """

    folder: Path
    given: str = field(default_factory=lambda: os.environ.get("TEST_DATABASE_URL", ""))
    postgres: Postgres | None = None
    made: list[str] = field(default_factory=list)
    name: str = f"ascertain_test_{os.getpid()}"

    def start(self) -> None:
        """Start it if it is ours, and make the logins."""
        if not self.given:
            self.postgres = Postgres(self.folder, durable=False)
            self.postgres.start()
        with self.admin() as connection:
            logins.create_roles(connection)

    def stop(self) -> None:
        """Stop it if it is ours, else drop the databases that we made."""
        if self.postgres:
            self.postgres.stop()
            return
        with self.admin() as connection:
            for name in self.made:
                connection.execute(f'drop database if exists "{name}" with (force)')

    def admin(self) -> psycopg.Connection[Any]:
        """A superuser's connection, in autocommit."""
        url = self.postgres.admin_url() if self.postgres else self.given
        return psycopg.connect(url, autocommit=True)

    def create(self, suffix: str = "", *, template: str = "") -> str:
        """Make a database, a copy of `template` if given; returns its name."""
        name = f"{self.name}_{suffix}" if suffix else self.name
        with self.admin() as connection:
            logins.create_database(connection, name, template=template)
        self.made.append(name)
        return name

    def url(self, login: str, *, database: str = "") -> str:
        """The URL that `login` connects to the session's database (or `database`) with."""
        database = database or self.name
        if self.postgres:
            return self.postgres.url(login, database=database)
        return make_conninfo(self.given, user=logins.role(login), dbname=database)

    def parts(self, login: str, *, database: str = "") -> dict[str, Any]:
        """The same for Django: NAME, USER, HOST …"""
        return logins.database_settings(self.url(login, database=database))

    def make_owner_superuser(self) -> None:
        """Let the owner become every login; after the migrations, which must not need it."""
        with self.admin() as connection:
            connection.execute(f"alter role {logins.role(logins.OWNER)} superuser")

    def connect(self, login: str, **options: Any) -> psycopg.Connection[Any]:
        """A connection of its own as `login`; autocommit unless told otherwise."""
        options = {"autocommit": True, **options}
        return psycopg.connect(self.url(login), **options)


@dataclass
class BrokerServer:
    """A Valkey on a Unix socket."""

    folder: Path
    child: Child = field(init=False)

    def __post_init__(self) -> None:
        self.child = Child(
            "valkey",
            command=valkey_command(self.folder),
            env=dict(os.environ),
            log=self.folder / "valkey.log",
            folder=ROOT,
        )

    @property
    def url(self) -> str:
        """Its REDIS_URL."""
        return socket_url(str(valkey_socket(self.folder)))

    @property
    def celery_url(self) -> str:
        """The same for Celery."""
        return broker_url(self.url)

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.child.start()
        wait_until(self.answers, what="Valkey's answer")

    def client(self) -> closing["redis.Redis[bytes]"]:
        """A client, closed at the end of the block."""
        return closing(redis.from_url(self.url))

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def empty(self) -> None:
        """Drop every message and every cached value."""
        with self.client() as client:
            client.flushall()

    def stop(self) -> None:
        """Stop it."""
        self.child.stop()


@dataclass
class SandboxServer:
    """The sandbox provider as its own process, with an empty store."""

    folder: Path
    port: int = field(default_factory=lambda: free_port(0))
    child: Child = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "providers.sandbox", "--control", "--port", str(self.port)]
        self.child = Child(
            "sandbox",
            command=[*command, "--store", str(self.folder / "provider.sqlite3")],
            env=dict(os.environ),
            log=self.folder / "sandbox.log",
            folder=ROOT,
        )

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.child.start()
        wait_until(lambda: answers(self.url), what=f"an answer from {self.url}")

    def stop(self) -> None:
        """Stop it."""
        self.child.stop()


def answers(url: str) -> bool:
    """Whether an HTTP server answers at all."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=2)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def forget_pools() -> None:
    """Have tasks sent over new connections: to where the broker is said to be from now on.

    `app.close` would also take the application off the list that shared tasks are registered with,
    and a pool that is merely closed is handed out again.
    """
    pools.reset()
    app._pool = None
    del app.amqp
