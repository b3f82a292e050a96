"""What every test may ask for: a migrated database that keeps what is written, and real servers.

- `database`: the server, its database made from a migrated template. `db` and the marker
  `django_db` mean the same here. Nothing is rolled back or emptied between tests, for the record
  can be neither: each test makes a tenant of its own.
- `valkey`, `sandbox`: the broker and the provider as processes of their own.
- `process_env`: the environment for a process of the deployment, by login.
- `demonstration`: a whole `manage.py up` with its sample tenants, for walks from end to end.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg.pq import TransactionStatus
from pytest_django import DjangoDbBlocker

from console.broker import broker_url
from console.celery import app
from console.state import free_port
from ledger import access
from tests.demonstration import Demonstration
from tests.network import guard_sockets
from tests.running import running
from tests.servers import BrokerServer, DatabaseServer, SandboxServer, forget_pools

# The only caller in whose transaction a refusal has to survive is a workflow.
IDLE = TransactionStatus.IDLE
ALIASES = {"default": "owner", "auth": "auth", "apart": "workflow"}


def pytest_configure(config: pytest.Config) -> None:
    """Put up the wall before any test is even collected."""
    guard_sockets()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of the demonstration to the end: while it runs the machine is not quiet."""
    items.sort(key=lambda item: "demonstration" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A folder for the servers' files that the account of root's PostgreSQL may pass through."""
    folder = Path(tempfile.mkdtemp(prefix="ascertain-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def database(server_folder: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[DatabaseServer]:
    """The server, with Django's aliases (owner, auth, apart) connected to the session's database.

    The migrations run as the plain owner that a deployment has, into a template. Only then does
    the owner become a superuser, so that `tests.logins.login` can take every other part.
    """
    server = DatabaseServer(server_folder)
    server.start()
    django_db_blocker.unblock()
    try:
        template = server.create("template")
        connections["default"].settings_dict.update(server.parts("owner", database=template))
        call_command("migrate", verbosity=0, interactive=False)
        call_command("sync_contracts", verbosity=0)
        connections.close_all()
        server.make_owner_superuser()
        server.create(template=template)
        for alias, login in ALIASES.items():
            connections[alias].settings_dict.update(server.parts(login))
        yield server
    finally:
        connections.close_all()
        django_db_blocker.restore()
        server.stop()


@pytest.fixture(scope="session")
def django_db_setup(database: DatabaseServer) -> None:
    """pytest-django's set-up is ours."""


@pytest.fixture
def _django_db_helper(database: DatabaseServer) -> None:
    """Behind `db`, `transactional_db` and the marker `django_db`: no transaction, no flush."""


@pytest.fixture(autouse=True)
def _no_tenant_is_left() -> Iterator[None]:
    """A tenant named outside a transaction stays with the connection, and tests share theirs."""
    yield
    for alias in ALIASES:
        open_one = connections[alias].connection
        if open_one and not open_one.closed and open_one.info.transaction_status == IDLE:
            open_one.execute("reset ascertain.tenant")
            access.forget(open_one)


@pytest.fixture(scope="session")
def valkey(server_folder: Path) -> Iterator[BrokerServer]:
    """A broker of this session's own; from here on tasks are sent to it."""
    folder = server_folder / "broker"
    folder.mkdir()
    server = BrokerServer(folder)
    server.start()
    settings.REDIS_URL = server.url
    app.conf.broker_url = settings.CELERY_BROKER_URL = broker_url(server.url)
    forget_pools()
    app.loader.import_default_modules()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sandbox(server_folder: Path) -> Iterator[SandboxServer]:
    """The sandbox provider, at `sandbox.url`."""
    folder = server_folder / "sandbox"
    folder.mkdir()
    server = SandboxServer(folder)
    server.start()
    settings.SANDBOX_URL = server.url
    yield server
    server.stop()


@pytest.fixture(scope="session")
def process_env(
    database: DatabaseServer, valkey: BrokerServer, sandbox: SandboxServer, server_folder: Path
) -> Callable[..., dict[str, str]]:
    """process_env("worker") is the environment of a real worker; web takes ("web", "auth")."""

    def environment(*names: str) -> dict[str, str]:
        urls = {f"DATABASE_URL_{name.upper()}": database.url(name) for name in names}
        return {
            **os.environ,
            **urls,
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "ASCERTAIN_LOGIN": names[0],
            "ASCERTAIN_STATE_DIR": str(server_folder / "state"),
            "REDIS_URL": valkey.url,
            "SANDBOX_URL": sandbox.url,
            "SECRET_KEY": settings.SECRET_KEY,
        }

    return environment


@pytest.fixture(scope="session")
def demonstration(server_folder: Path) -> Iterator[Demonstration]:
    """One `manage.py up` for all tests that leave it running, and its cast; see its module."""
    with running(server_folder / "demonstration", port=free_port(0)) as up:
        stage = Demonstration(up)
        stage.start()
        yield stage
        stage.crew.shutdown(cancel_futures=True)
