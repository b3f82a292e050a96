"""One sandbox process for the run, emptied for each test that asks for it."""

from collections.abc import Iterator

import pytest

from tests.providers.peer import Sandbox, start, stop


@pytest.fixture(scope="session")
def running_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One process for the whole run, with its control surface open."""
    sandbox = start(tmp_path_factory.mktemp("sandbox") / "store.sqlite3", "--control")
    yield sandbox
    stop(sandbox)


@pytest.fixture
def provider_log(running_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The running sandbox, emptied, with `SANDBOX_URL` pointing at it."""
    running_sandbox.reset()
    monkeypatch.setenv("SANDBOX_URL", running_sandbox.url)
    return running_sandbox
