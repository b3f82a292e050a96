"""The real worker: it outlives its broker, and nothing of it outlives itself."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import Celery

from console.processes import Child
from console.settings import CELERY_BROKER_TRANSPORT_OPTIONS
from tests.running import processes
from tests.servers import ROOT, BrokerServer, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def broker(server_folder: Path) -> Iterator[BrokerServer]:
    """A broker of this test's own, to be killed."""
    folder = server_folder / "worker test"
    folder.mkdir(exist_ok=True)
    server = BrokerServer(folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def sender(broker: BrokerServer) -> Iterator[Celery]:
    """An application that only sends."""
    with Celery("sender", broker=broker.celery_url) as app:
        app.conf.broker_transport_options = CELERY_BROKER_TRANSPORT_OPTIONS
        yield app


@pytest.fixture
def worker(
    broker: BrokerServer, process_env: Callable[..., dict[str, str]], tmp_path: Path
) -> Iterator[Child]:
    """The worker as `up` starts it, with the held task added."""
    command = [sys.executable, "-m", "celery", "-A", "console.celery", "worker"]
    command += ["--concurrency", "2", "--without-gossip", "--without-mingle", "--loglevel", "INFO"]
    started = Child(
        "worker",
        command=[*command, "--include", "tests.stack.held_task"],
        env={**process_env("worker"), "REDIS_URL": broker.url},
        log=tmp_path / "worker.log",
        folder=ROOT,
    )
    started.start()
    yield started
    started.stop()


def wait_for(path: Path, *, worker: Child) -> None:
    """Wait until the file is there; fails the test at once when the worker ended."""

    def is_there() -> bool:
        assert not worker.has_died(), worker.log and worker.log.read_text()[-2000:]
        return path.exists()

    wait_until(is_there, timeout_seconds=60, what=path.name)


def run(sender: Celery, *, folder: Path, name: str) -> None:
    """Send a held task."""
    sender.send_task("tests.stack.hold", args=[str(folder), name], queue="celery")


def test_a_worker_goes_on_after_its_broker_was_killed_under_a_running_task(
    worker: Child, broker: BrokerServer, sender: Celery, tmp_path: Path
) -> None:
    run(sender, folder=tmp_path, name="first")
    wait_for(tmp_path / "first.began", worker=worker)
    os.kill(broker.child.process_id, signal.SIGKILL)
    wait_until(broker.child.has_died, what="the broker's end")
    (tmp_path / "first.go").touch()
    wait_for(tmp_path / "first.ended", worker=worker)
    broker.start()
    (tmp_path / "second.go").touch()
    run(sender, folder=tmp_path, name="second")
    wait_for(tmp_path / "second.ended", worker=worker)


def test_a_killed_worker_leaves_no_process(worker: Child, sender: Celery, tmp_path: Path) -> None:
    run(sender, folder=tmp_path, name="held")
    wait_for(tmp_path / "held.began", worker=worker)
    session = worker.process_id
    assert len([line for number, line in processes() if number == session]) >= 3
    os.kill(session, signal.SIGKILL)
    # Nobody has looked at the worker yet: its pool ends by the kernel's hand alone.
    wait_until(
        lambda: not [line for number, line in processes() if number == session],
        what="the end of its pool",
    )
    assert not (tmp_path / "held.ended").exists()
