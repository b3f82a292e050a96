"""A sandbox process on a free port, its control surface and its log in plain calls."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx

from tests.servers import wait_until

READY_SECONDS = 15.0


@dataclass(slots=True)
class Sandbox:
    """A running sandbox: its address, its control surface and its log."""

    url: str
    process: subprocess.Popen[str]
    client: httpx.Client

    def script(self, *entries: object, forever: bool = False, **match: str) -> None:
        """Hand `entries` to the requests that `match` describes."""
        answer = self.client.post(
            "/_sandbox/scripts",
            json={"match": match, "do": list(entries), "forever": forever},
        )
        assert answer.status_code == 201, answer.text

    def advance(self, seconds: int) -> None:
        """Move the sandbox's clock."""
        answer = self.client.post("/_sandbox/clock", json={"advance_seconds": seconds})
        assert answer.status_code == 200, answer.text

    def reset(self) -> None:
        """Forget everything and set the clock back."""
        answer = self.client.post("/_sandbox/reset", json={})
        assert answer.status_code == 200, answer.text

    def now(self) -> datetime:
        """The sandbox's own time."""
        answer = self.client.post("/_sandbox/clock", json={"advance_seconds": 0})
        return datetime.fromisoformat(answer.json()["now"])

    def release(self) -> int:
        """Let every held request go; how many there were."""
        return int(self.client.post("/_sandbox/release", json={}).json()["released"])

    def requests(self, **filters: str) -> list[dict[str, object]]:
        """The request log."""
        return list(self.client.get("/_sandbox/requests", params=filters).json()["requests"])

    def effects(self, **filters: str) -> list[dict[str, object]]:
        """Every object that was made."""
        return list(self.client.get("/_sandbox/effects", params=filters).json()["effects"])

    def creates(self, **filters: str) -> int:
        """How many objects took effect."""
        return int(self.client.get("/_sandbox/effects", params=filters).json()["creates"])

    def wait_for(self, outcome: str, **filters: str) -> dict[str, object]:
        """The newest logged request, once its outcome is `outcome`."""

        def last() -> dict[str, object] | None:
            rows = self.requests(**filters)
            return rows[-1] if rows and rows[-1]["outcome"] == outcome else None

        found: dict[str, object] = wait_until(last, what=f"a request that became {outcome}")
        return found


def start(store: Path, *options: str, port: int = 0, env: dict[str, str] | None = None) -> Sandbox:
    """Start a sandbox process on `store` and wait until it listens."""
    command = [sys.executable, "-m", "providers.sandbox", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--store", str(store), *options],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | (env or {}),
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("sandbox listening on "), line
    url = line.split()[-1]
    return Sandbox(url, process, httpx.Client(base_url=url, trust_env=False, timeout=10))


def stop(sandbox: Sandbox, *, with_signal: int = signal.SIGTERM) -> int:
    """Stop the process and return its exit code."""
    sandbox.client.close()
    sandbox.process.send_signal(with_signal)
    code = sandbox.process.wait(timeout=READY_SECONDS)
    if sandbox.process.stdout:
        sandbox.process.stdout.close()
    return code
