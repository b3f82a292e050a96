"""The sandbox's read routes: by key, request id, object id and attributes, with lag and pages."""

from collections.abc import Mapping
from datetime import UTC, datetime

from providers.sandbox.engine import Ask, Response, answer, refusal
from providers.sandbox.shape import as_object
from providers.sandbox.store import Store

PAGE = 25
PAGE_MAX = 100
DIGITS_MAX = 16

_FILTERS = {
    "idempotency_key": "key = :idempotency_key",
    "amount": "amount = :amount",
    "currency": "currency = :currency",
    "counterparty": "counterparty = :counterparty",
    "created_from": "created_ms >= :created_from",
    "created_to": "created_ms <= :created_to",
    "request_id": "(request_id = :request_id OR request_id GLOB :request_group)",
    "cursor": "no < :cursor",
}


class _BadFilter(ValueError):
    """A filter whose value cannot be read."""


def read_object(ask: Ask, *, store: Store, object_id: str) -> Response:
    """One object by its id, at once after it was made; 404 when there is none."""
    rows = store.select(
        "object",
        where=["id = :id", "operation = :operation", "scope = :scope"],
        values={"id": object_id, "operation": ask.profile.operation, "scope": ask.account},
    )
    if not rows:
        return refusal(404, code="not_found", message="there is no such object")
    return answer(200, value=as_object(rows[0], now_ms=store.now_ms()))


def read_list(ask: Ask, *, store: Store) -> Response:
    """A page of objects, newest first; only those that are listed by now and within reach."""
    unknown = sorted(set(ask.parameters) - set(_FILTERS) - {"limit"})
    if ask.profile.key_seconds is None and "idempotency_key" in ask.parameters:
        unknown = ["idempotency_key"]
    if unknown:
        return refusal(400, code="unknown_filter", message=f"cannot filter on {unknown[0]}")
    try:
        values = {name: _value(name, text) for name, text in ask.parameters.items()}
        limit = min(max(int(values.pop("limit", PAGE)), 1), PAGE_MAX)
    except _BadFilter as error:
        return refusal(400, code="invalid_filter", message=str(error))
    now_ms = store.now_ms()
    where = [_FILTERS[name] for name in values]
    where += ["operation = :operation", "scope = :scope"]
    where += ["listed_ms <= :now", "created_ms > :reach"]
    values |= {
        "operation": ask.profile.operation,
        "scope": ask.account,
        "now": now_ms,
        "reach": now_ms - ask.profile.reach_back_seconds * 1000,
        "request_group": _group(ask.parameters),
    }
    rows = store.select("object", where=where, values=values, newest_first=True, limit=limit + 1)
    more = len(rows) > limit
    data = [as_object(row, now_ms=now_ms) for row in rows[:limit]]
    cursor = str(rows[limit - 1]["no"]) if more else None
    return answer(200, value={"data": data, "has_more": more, "next_cursor": cursor})


def _value(name: str, text: str) -> str | int:
    if name in ("amount", "limit", "cursor"):
        if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX):
            raise _BadFilter(f"{name} must be a whole number")
        return int(text)
    if name in ("created_from", "created_to"):
        return _milliseconds(name, text)
    return text


def _milliseconds(name: str, text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise _BadFilter(f"{name} must be a time in RFC 3339") from None
    if at.tzinfo is None:
        raise _BadFilter(f"{name} must say its time zone")
    return int((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _group(parameters: Mapping[str, str]) -> str:
    """A pattern for all attempts of a request id: the id, a dot, the attempt."""
    wanted = parameters.get("request_id", "")
    return "".join(f"[{c}]" if c in "*?[" else c for c in wanted) + ".*"
