"""The sandbox's control surface and log, as the demonstration uses them."""

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from django.conf import settings

TIMEOUT_SECONDS = 10
ERRORS_FROM = 400
Entry = str | Mapping[str, Any]


class SandboxRefused(RuntimeError):
    """The sandbox answered a control request with an error; says which."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One sandbox, at `url`."""

    url: str

    def script(
        self, match: Mapping[str, str], *, entries: Sequence[Entry], forever: bool = False
    ) -> None:
        """Have the next requests that `match` describes meet `entries`, one each."""
        script = {"match": dict(match), "do": list(entries), "forever": forever}
        self._ask("POST", "/_sandbox/scripts", body=script)

    def release(self, reference: str) -> None:
        """Let go whatever is held for this intent key."""
        self._ask("POST", "/_sandbox/release", body={"reference": reference})

    def creates(self, reference: str, *, tenant: str) -> list[dict[str, Any]]:
        """The requests that wanted to create this intent's effect, oldest first."""
        query = {"reference": reference, "tenant": tenant, "kind": "create"}
        log = self._ask("GET", f"/_sandbox/requests?{urlencode(query)}")
        return list(log["requests"])

    def effects(self, reference: str, *, tenant: str) -> list[dict[str, Any]]:
        """The objects made for this intent, oldest first; `took_effect` says which count."""
        query = {"reference": reference, "tenant": tenant}
        return list(self._ask("GET", f"/_sandbox/effects?{urlencode(query)}")["effects"])

    def page(self, reference: str, *, tenant: str) -> str:
        """The address of the page that shows this intent's requests and objects."""
        return f"{self.url}/_sandbox/?{urlencode({'reference': reference, 'tenant': tenant})}"

    def send_as_stranger(self, path: str, *, body: Mapping[str, Any], **headers: str) -> int:
        """Create something as a system that has no ledger; the status that it was answered with."""
        named = {name.replace("_", "-"): quote(text) for name, text in headers.items()}
        status, _ = self._exchange("POST", path, body=body, headers=named)
        return status

    def _ask(self, method: str, path: str, *, body: Any = None) -> dict[str, Any]:
        status, raw = self._exchange(method, path, body=body)
        if status >= ERRORS_FROM:
            words = raw[:300].decode(errors="replace")
            raise SandboxRefused(f"The sandbox refused {method} {path}: {status} {words}")
        answer: dict[str, Any] = json.loads(raw)
        return answer

    def _exchange(
        self, method: str, path: str, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        place = urlsplit(self.url).netloc
        connection = http.client.HTTPConnection(place, timeout=TIMEOUT_SECONDS)
        try:
            content = None if body is None else json.dumps(body)
            all_headers = {"Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, body=content, headers=all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def sandbox() -> Sandbox:
    """The sandbox of this installation. Raises RuntimeError in a real deployment."""
    if not settings.SANDBOX:
        raise RuntimeError("This is for the sandbox; a real provider is connected here.")
    return Sandbox(settings.SANDBOX_URL.rstrip("/"))
