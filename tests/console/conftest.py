"""A sandbox of the console's own tests, whose lookups show at once what was made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.demo.sandbox import Sandbox
from tests.servers import SandboxServer


@pytest.fixture(scope="module")
def prompt_sandbox(server_folder: Path, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Its control surface; adapters in this process ask it while the test runs."""
    folder = server_folder / f"prompt-{request.module.__name__}"
    folder.mkdir()
    server = SandboxServer(folder)
    server.child.command = [*server.child.command, "--settle-seconds", "0"]
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDBOX_URL", server.url)
        yield Sandbox(server.url)
    server.stop()
