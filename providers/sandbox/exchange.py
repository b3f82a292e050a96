"""One exchange with the sandbox: its address, our headers, and what may be kept of the answer."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit

from ledger.rules.contract import Answer, IntentView, Phase
from ledger.rules.digest import Json, digest
from ledger.rules.redaction import excerpt, scrub
from providers.http import Door, Reply
from providers.sandbox import parse
from providers.secrets import MissingSecret, secret

PATHS = {
    "charge": "/v1/charges",
    "payout": "/v1/payouts",
    "refund": "/v1/refunds",
    "disbursement": "/v1/disbursements",
    "email": "/v1/emails",
}
EXCERPT = (
    "id",
    "object",
    "status",
    "amount",
    "currency",
    "counterparty",
    "account",
    "created",
    "reference",
    "request_id",
    "idempotency_key",
    "failure_code",
)
RETRY_AFTER_DIGITS_MAX = 6


class NotSetUp(Exception):
    """There is no address to ask, or no usable credential."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one request brought: the reply, its body where it is readable, and what may be kept."""

    reply: Reply
    value: Mapping[str, Json] | None
    answer: Answer

    @property
    def is_whole(self) -> bool:
        """Whether a whole answer came back, readable or not."""
        return self.reply.phase is Phase.ANSWERED


def read(view: IntentView, *, path: str, deadline_seconds: float) -> Exchange:
    """Ask for `path` by the door that cannot create. Raises NotSetUp before anything leaves."""
    reply = door(reading=True).send(
        "GET",
        path=path,
        deadline_seconds=deadline_seconds,
        headers=_headers(view, reading=True),
    )
    return _exchange(reply, "GET", path)


def create(
    view: IntentView,
    *,
    path: str,
    deadline_seconds: float,
    send_by: float,
    headers: Mapping[str, str],
    content: bytes,
) -> Exchange:
    """Send one create for `view`, once and not after `send_by`. Raises NotSetUp beforehand."""
    reply = door(reading=False).send(
        "POST",
        path=path,
        deadline_seconds=deadline_seconds,
        send_by=send_by,
        headers={**_headers(view, reading=False), **headers},
        content=content,
    )
    return _exchange(reply, "POST", path)


def _exchange(reply: Reply, method: str, path: str) -> Exchange:
    value = _value(reply)
    return Exchange(reply, value, _answer(reply, method, path, value))


def unsent(method: str, *, path: str, code: str) -> Answer:
    """The answer of a request that never left, and why in one word."""
    return Answer(method=method, path=path, phase=Phase.NOT_SENT, duration_ms=0, code=code)


def door(*, reading: bool) -> Door:
    """The way to the sandbox; a reading one refuses all but GET. Raises NotSetUp."""
    address = os.environ.get("SANDBOX_URL", "")
    try:
        if urlsplit(address).scheme in ("http", "https"):
            return _door(address, reading, os.getpid())
    except ValueError as error:
        raise NotSetUp(str(error)) from None
    raise NotSetUp("set SANDBOX_URL to the sandbox's address")


@lru_cache(maxsize=8)
def _door(address: str, reading: bool, _process: int) -> Door:
    # One door per process: a forked worker must not share its parent's connections.
    return Door(address, read_only=reading)


def _headers(view: IntentView, *, reading: bool) -> dict[str, str]:
    # The reference goes with lookups too: it creates nothing, and their log can be read by case.
    headers = {
        "X-Account": quote(view.account, safe="-_.:"),
        "X-Tenant": view.tenant,
        "X-Reference": quote(view.intent_key, safe=":"),
    }
    try:
        key = secret("SANDBOX_READ_KEY", required=False) if reading else None
        key = key or secret("SANDBOX_API_KEY", required=False)
    except MissingSecret as error:
        raise NotSetUp(str(error)) from None
    if key is not None:
        headers["Authorization"] = f"Bearer {key.reveal()}"
    return headers


def _value(reply: Reply) -> Mapping[str, Json] | None:
    if reply.phase is not Phase.ANSWERED or reply.trouble is not None:
        return None
    try:
        return parse.mapping(reply.body)
    except parse.Unreadable:
        return None


def _answer(reply: Reply, method: str, path: str, value: Mapping[str, Json] | None) -> Answer:
    wait = reply.headers.get("retry-after", "")
    seconds = int(wait) if wait.isascii() and wait.isdigit() else None
    return Answer(
        method=method,
        path=path,
        phase=reply.phase,
        duration_ms=reply.duration_ms,
        status=reply.status,
        code=parse.code(value) if value else None,
        request_id=scrub(reply.headers.get("x-request-id", "")) or None,
        replayed=reply.headers.get("idempotent-replayed") == "true",
        retry_after_seconds=seconds if len(wait) <= RETRY_AFTER_DIGITS_MAX else None,
        body_digest=digest(reply.body).hex() if reply.body else None,
        excerpt=excerpt(value, EXCERPT) if value else {},
    )
