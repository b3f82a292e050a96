"""The sandbox's control surface and its log as JSON."""

from collections import Counter
from collections.abc import Mapping

from providers.sandbox.engine import Engine, Response, answer, refusal
from providers.sandbox.faults import BadScript, script
from providers.sandbox.shape import as_effect, as_request, moment
from providers.sandbox.store import OBJECT_FILTERS, REQUEST_FILTERS, Store
from providers.sandbox.wire import Holds

LIMIT = 1000
RELEASE_WORDS = ("key", "reference", "request_id")
FORWARD_SECONDS_MAX = 10 * 366 * 86_400


def act(name: str, *, value: object, engine: Engine, holds: Holds) -> Response:
    """Carry out one control request; anything odd is refused with 400 and nothing changes."""
    if not isinstance(value, dict):
        return refusal(400, code="invalid_request", message="send an object")
    if name == "scripts":
        return _add_script(value, engine.store)
    if name == "release":
        return _release(value, holds)
    if name == "clock":
        return _advance(value, engine.store)
    if name == "reset":
        released = holds.release({})
        engine.store.reset()
        return answer(200, value={"released": released})
    return refusal(404, code="no_such_route", message="there is nothing here")


def requests(store: Store, *, query: Mapping[str, str]) -> Response:
    """The request log that `query` asks for, oldest first, with how many creates and lookups."""
    where, values = conditions(query, allowed=REQUEST_FILTERS)
    rows = store.select("request", where=[*where, "no > :after"], values=values, limit=LIMIT)
    counts = {
        kind: store.count("request", where=[*where, f"kind = '{kind}'"], values=values)
        for kind in ("create", "lookup")
    }
    return answer(
        200,
        value={
            "requests": [as_request(row) for row in rows],
            "creates": counts["create"],
            "lookups": counts["lookup"],
        },
    )


def effects(store: Store, *, query: Mapping[str, str]) -> Response:
    """Every object made, oldest first, and how many of them took effect, in all and per key."""
    where, values = conditions(query, allowed=OBJECT_FILTERS)
    now_ms = store.now_ms()
    rows = store.select("object", where=[*where, "no > :after"], values=values, limit=LIMIT)
    shown = [as_effect(row, now_ms=now_ms) for row in rows]
    happened = [effect for effect in shown if effect["took_effect"]]
    by_key = Counter(str(effect["idempotency_key"]) for effect in happened)
    return answer(200, value={"effects": shown, "creates": len(happened), "by_key": dict(by_key)})


def conditions(
    query: Mapping[str, str], *, allowed: tuple[str, ...]
) -> tuple[list[str], dict[str, str | int | None]]:
    """The SQL conditions and values for the filters in `query` that are `allowed`."""
    values: dict[str, str | int | None] = {name: query[name] for name in allowed if query.get(name)}
    where = [f"{name} = :{name}" for name in values]
    after = query.get("after", "")
    values["after"] = int(after) if after.isascii() and after.isdigit() else 0
    return where, values


def _add_script(value: Mapping[str, object], store: Store) -> Response:
    try:
        wanted = script(value)
    except BadScript as error:
        return refusal(400, code="invalid_script", message=str(error))
    return answer(201, value={"script": store.add_script(wanted)})


def _release(value: Mapping[str, object], holds: Holds) -> Response:
    match = {name: text for name, text in value.items() if isinstance(text, str)}
    if set(value) - set(RELEASE_WORDS) or len(match) != len(value):
        return refusal(
            400, code="invalid_request", message=f"release takes {', '.join(RELEASE_WORDS)}"
        )
    return answer(200, value={"released": holds.release(match)})


def _advance(value: Mapping[str, object], store: Store) -> Response:
    seconds = value.get("advance_seconds")
    if type(seconds) is not int or not 0 <= seconds <= FORWARD_SECONDS_MAX:
        return refusal(
            400, code="invalid_request", message="advance_seconds takes a whole number, not below 0"
        )
    store.advance(seconds)
    return answer(200, value={"now": moment(store.now_ms())})
