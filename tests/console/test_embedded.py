"""The embedded PostgreSQL starts wherever it is put and survives what is done to it."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from console.embedded import Postgres, can_run, postgres_bin, reachable_bin, server_account
from tests.servers import BrokerServer, wait_until


@pytest.fixture
def folder(server_folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder of this test's own that root's server account may enter; removed afterwards."""
    made = server_folder / request.node.name.split("[")[0][:40]
    made.mkdir(mode=0o711)
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.parametrize("name", ["a folder with a space", "long" * 32])
def test_it_starts_in_folders_with_odd_names(folder: Path, name: str) -> None:
    state = folder / name
    state.mkdir(mode=0o711)
    state.chmod(0o711)
    postgres = Postgres(state, durable=False)
    postgres.start()
    try:
        postgres.make_logins_and_database()
        with psycopg.connect(postgres.url("web")) as connection:
            assert connection.execute("select session_user").fetchone() == ("ascertain_web",)
        assert postgres.socket.stat().st_mode & 0o077 == 0
    finally:
        postgres.stop()
        shutil.rmtree(postgres.socket, ignore_errors=True)


def test_no_acknowledged_row_is_lost_when_it_is_killed(folder: Path) -> None:
    postgres = Postgres(folder)
    postgres.start()
    try:
        with psycopg.connect(postgres.admin_url(), autocommit=True) as connection:
            connection.execute("create table kept (n int)")
            for number in range(200):
                connection.execute("insert into kept values (%s)", [number])
        os.kill(postgres.process_id, signal.SIGKILL)
        wait_until(postgres.has_died, what="its end")
        postgres.restart()
        with psycopg.connect(postgres.admin_url()) as connection:
            assert connection.execute("select count(*) from kept").fetchone() == (200,)
    finally:
        postgres.stop()


def test_a_first_start_that_was_killed_leaves_no_half_database(folder: Path) -> None:
    half = folder / "pgdata.new"
    half.mkdir()
    (half / "postgresql.conf").write_text("half")
    postgres = Postgres(folder, durable=False)
    postgres.start()
    postgres.stop()
    assert (folder / "pgdata" / "PG_VERSION").exists()
    assert not half.exists()


def test_data_of_another_major_version_is_refused(folder: Path) -> None:
    data = folder / "pgdata"
    data.mkdir()
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(SystemExit, match="was made by PostgreSQL 9"):
        Postgres(folder).start()


def test_a_server_that_cannot_start_is_said_to(folder: Path) -> None:
    postgres = Postgres(folder, durable=False)
    postgres.start()
    postgres.stop()
    (folder / "pgdata" / "postgresql.auto.conf").write_text("shared_buffers = 'nonsense'")
    with pytest.raises(SystemExit, match="did not start; its log is"):
        postgres.start(timeout_seconds=1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another account")
def test_as_root_a_closed_installation_is_copied_and_stays_closed(folder: Path) -> None:
    closed = folder / "closed"
    package = postgres_bin().parent.parent
    shutil.copytree(package, closed / package.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, closed / libraries.name, symlinks=True)
    closed.chmod(0o700)
    source = closed / package.name / "pginstall" / "bin"
    account = server_account()
    assert not can_run(source / "postgres", account)
    copy = reachable_bin(source, state=folder, account=account)
    assert can_run(copy / "postgres", account)
    assert copy == reachable_bin(source, state=folder, account=account)
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another account")
def test_as_root_a_state_folder_below_a_closed_one_is_refused(folder: Path) -> None:
    closed = folder / "closed"
    state = closed / "state"
    state.mkdir(parents=True)
    closed.chmod(0o700)
    with pytest.raises(SystemExit, match="cannot be entered by the account"):
        Postgres(state).start()


def test_the_brokers_messages_outlive_a_kill(server_folder: Path) -> None:
    folder = server_folder / "killed broker"
    folder.mkdir()
    broker = BrokerServer(folder)
    broker.start()
    try:
        with broker.client() as client:
            client.lpush("queue", "one")
            # "everysec" may lose the last second; what this asks is that a restart reads its file.
            client.execute_command("WAITAOF", 1, 0, 5_000)
        os.kill(broker.child.process_id, signal.SIGKILL)
        wait_until(broker.child.has_died, what="its end")
        broker.start()
        with broker.client() as client:
            assert client.lrange("queue", 0, -1) == [b"one"]
    finally:
        broker.stop()
