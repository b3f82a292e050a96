"""Fault scripts: what a request shall meet, read from JSON and refused when it makes no sense."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

HOLD_SECONDS = 600.0
WAIT_SECONDS_MAX = 3600
WRONG_BY_MINOR = 100

MATCHES = ("reference", "key", "counterparty", "operation", "tenant", "account")


class BadScript(ValueError):
    """A fault script that cannot be read; the message says which word is wrong."""


class Reply(StrEnum):
    """How the connection ends, whatever was done before."""

    NORMAL = "normal"
    LOSE = "lose_answer"
    RESET_BEFORE = "reset_before"
    RESET_AFTER = "reset_after"
    TOO_MANY = "status_429"
    ERROR = "error_500"
    HTML = "html_502"
    EMPTY = "empty_200"
    TRUNCATED = "truncated"
    ACKNOWLEDGE = "acknowledge_202"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer given letter by letter, for hostile input. `text` is repeated `repeat` times."""

    status: int = 200
    content_type: str = "application/json"
    text: str = ""
    repeat: int = 1
    gzip: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request shall meet; the default meets nothing. Times in seconds."""

    words: str = ""
    reply: Reply = Reply.NORMAL
    delay_before_seconds: float = 0.0
    hold_before_seconds: float = 0.0
    delay_after_seconds: float = 0.0
    hold_seconds: float = 0.0
    drip_seconds: float = 0.0
    retry_after_seconds: int | None = None
    not_done: bool = False
    copies: int = 1
    wrong_amount: int | None = None
    wrong_by_minor: int = 0
    stored: Mapping[str, str | int] = field(default_factory=dict)
    decline: str | None = None
    pending: bool = False
    fail_later_seconds: int | None = None
    lag_seconds: int | None = None
    never_listed: bool = False
    forget_key: bool = False
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """Entries handed out in order to the requests that `match` describes."""

    match: Mapping[str, str]
    entries: tuple[object, ...]
    forever: bool


def script(value: object) -> Script:
    """The script in the JSON `value`; every entry is checked now. Raises BadScript."""
    if not isinstance(value, dict):
        raise BadScript("a script is an object with match and do")
    unknown = set(value) - {"match", "do", "forever"}
    if unknown:
        raise BadScript(f"unknown field {sorted(unknown)[0]!r}")
    entries = value.get("do")
    if not isinstance(entries, list) or not entries:
        raise BadScript("do must be a list with at least one entry")
    for entry in entries:
        plan(entry)
    forever = value.get("forever", False)
    if not isinstance(forever, bool):
        raise BadScript("forever is true or false")
    return Script(_match(value.get("match", {})), tuple(entries), forever)


def plan(entry: object) -> Plan:
    """The plan that one script entry describes: a name, or an object of names. Raises BadScript."""
    if isinstance(entry, str):
        entry = {} if entry == "ok" else {entry: True}
    if not isinstance(entry, dict):
        raise BadScript("an entry is a name or an object of names")
    changes: dict[str, object] = {}
    for name, value in entry.items():
        if value is False:
            continue
        for key, change in _knob(name, value).items():
            if key in changes and changes[key] != change:
                raise BadScript(f"{name} cannot be combined with another {key}")
            changes[key] = change
    changes["words"] = ", ".join(_words(n, v) for n, v in entry.items() if v is not False)
    return Plan(**changes)  # type: ignore[arg-type]


def _match(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadScript("match is an object")
    for name, wanted in value.items():
        if name not in (*MATCHES, "on") or not isinstance(wanted, str):
            raise BadScript(f"cannot match on {name!r}")
    if value.get("on", "create") not in ("create", "lookup", "any"):
        raise BadScript("on is create, lookup or any")
    return value


def _words(name: str, value: object) -> str:
    if value is True or isinstance(value, dict):
        return name
    return f"{name} {value}"


_SECONDS = {
    "delay_before_seconds": "delay_before_seconds",
    "delay_after_seconds": "delay_after_seconds",
    "drip_seconds": "drip_seconds",
}
_HOLDS = {"hold": "hold_seconds", "hold_before": "hold_before_seconds"}
_FLAGS: dict[str, dict[str, object]] = {
    "two_objects": {"copies": 2},
    "stay_pending": {"pending": True},
    "never_listed": {"never_listed": True},
    "forget_key": {"forget_key": True},
    "not_done": {"not_done": True},
    "error_500_done": {"reply": Reply.ERROR},
    "error_500_not_done": {"reply": Reply.ERROR, "not_done": True},
    "status_429": {"reply": Reply.TOO_MANY, "not_done": True},
    "reset_before": {"reply": Reply.RESET_BEFORE, "not_done": True},
    **{
        reply.value: {"reply": reply}
        for reply in (
            Reply.LOSE,
            Reply.RESET_AFTER,
            Reply.HTML,
            Reply.EMPTY,
            Reply.TRUNCATED,
            Reply.ACKNOWLEDGE,
        )
    },
}


def _knob(name: str, value: object) -> dict[str, object]:
    """The changes to a Plan that `name: value` asks for."""
    if name in _SECONDS:
        return {_SECONDS[name]: _number(name, value)}
    if name in _HOLDS:
        return {_HOLDS[name]: HOLD_SECONDS if value is True else _number(name, value)}
    if name == "status_429" and value is not True:
        return {**_FLAGS[name], "retry_after_seconds": _whole(name, value)}
    if name in _FLAGS:
        if value is not True:
            raise BadScript(f"{name} takes true")
        return dict(_FLAGS[name])
    if name == "wrong_amount":
        if value is True:
            return {"wrong_by_minor": WRONG_BY_MINOR}
        return {"wrong_amount": _whole(name, value)}
    if name == "fail_later":
        return {"fail_later_seconds": _whole(name, value)}
    if name == "lag_seconds":
        return {"lag_seconds": _whole(name, value)}
    return _text_knob(name, value)


def _text_knob(name: str, value: object) -> dict[str, object]:
    if name == "decline" and isinstance(value, str):
        return {"decline": value}
    if name == "stored" and isinstance(value, dict):
        if not set(value) <= {"amount", "currency", "counterparty", "account"}:
            raise BadScript("stored takes amount, currency, counterparty and account")
        return {"stored": value}
    if name == "raw" and isinstance(value, dict):
        return {"raw": _raw(value), "reply": Reply.RAW}
    raise BadScript(f"unknown fault {name!r}, or a value it does not take")


_RAW_TYPES = {
    "status": int,
    "content_type": str,
    "text": str,
    "repeat": int,
    "gzip": bool,
    "headers": dict,
}


def _raw(value: Mapping[str, object]) -> Raw:
    for name, given in value.items():
        if type(given) is not _RAW_TYPES.get(name):
            raise BadScript(f"raw does not take {name!r} with such a value")
    return Raw(**value)  # type: ignore[arg-type]


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadScript(f"{name} takes a number of seconds")
    if not 0 <= value <= WAIT_SECONDS_MAX:
        raise BadScript(f"{name} takes a number of seconds from 0 to {WAIT_SECONDS_MAX}")
    return float(value)


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadScript(f"{name} takes a whole number, not below 0")
    return value
