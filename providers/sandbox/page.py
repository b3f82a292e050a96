"""The sandbox's read-only page: what it was asked and what it did, newest first."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from urllib.parse import quote

from providers.sandbox.control import conditions
from providers.sandbox.profiles import PROFILES
from providers.sandbox.shape import as_effect, as_request, moment
from providers.sandbox.store import OBJECT_FILTERS, REQUEST_FILTERS, Row, Store

ROWS = 100

REQUEST_COLUMNS = ("No", "Arrived", "Outcome", "Request", "Key and reference", "Attempt", "Fault")
EFFECT_COLUMNS = ("Object", "Made", "Status", "Amount", "Counterparty", "Key and reference", "By")

OUTCOMES = {
    "received": ("wait", "received"),
    "accepted": ("wait", "accepted"),
    "held": ("warn", "accepted, answer held"),
    "answered": ("plain", "answered"),
    "lost": ("bad", "answer lost"),
    "reset": ("bad", "connection reset"),
    "client_gone": ("bad", "client had gone"),
    "interrupted": ("bad", "sandbox was stopped"),
}
STATUSES = {"succeeded": "good", "pending": "warn", "failed": "bad", "reversed": "bad"}


def style() -> bytes:
    """The page's stylesheet."""
    return files("providers.sandbox").joinpath("style.css").read_bytes()


def render(store: Store, *, query: Mapping[str, str]) -> str:
    """The page for the filters in `query`; everything from outside is escaped."""
    requests = _rows(store, "request", query, REQUEST_FILTERS)
    effects = _rows(store, "object", query, OBJECT_FILTERS)
    now_ms = store.now_ms()
    shown = [as_effect(row, now_ms=now_ms) for row in effects]
    happened = sum(1 for effect in shown if effect["took_effect"])
    creates = sum(1 for row in requests if row["kind"] == "create")
    summary = (
        f"{creates} create {_plural(creates, 'request')}, {len(requests) - creates} "
        f"{_plural(len(requests) - creates, 'lookup')}, {happened} "
        f"{_plural(happened, 'effect')} that took place"
    )
    return _PAGE.format(
        now=escape(moment(now_ms)),
        form=_form(query),
        summary=escape(summary),
        newest=f" The newest {ROWS} of each are shown." if _is_cut(requests, effects) else "",
        effects=_table("Effects", EFFECT_COLUMNS, [_effect_cells(effect) for effect in shown]),
        requests=_table("Requests", REQUEST_COLUMNS, [_request_cells(row) for row in requests]),
    )


def _rows(
    store: Store, table: str, query: Mapping[str, str], allowed: tuple[str, ...]
) -> list[Row]:
    where, values = conditions(query, allowed=allowed)
    return store.select(table, where=where, values=values, newest_first=True, limit=ROWS)


def _is_cut(*tables: Sequence[Row]) -> bool:
    return any(len(rows) == ROWS for rows in tables)


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _form(query: Mapping[str, str]) -> str:
    fields = "".join(
        f'<label>{label}<input name="{name}" value="{escape(query.get(name, ""))}"></label>'
        for name, label in (("key", "Key"), ("reference", "Reference"), ("tenant", "Tenant"))
    )
    chosen = query.get("operation", "")
    options = "".join(
        f"<option{' selected' if profile.operation == chosen else ''}>{profile.operation}</option>"
        for profile in PROFILES
    )
    select = f'<select name="operation"><option value="">all</option>{options}</select>'
    return f"{fields}<label>Operation{select}</label>"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>" for cells in rows)
    if not rows:
        body = f'<tr><td class="none" colspan="{len(columns)}">Nothing here.</td></tr>'
    region = f'<div class="scroll" role="region" aria-label="{title}" tabindex="0">'
    return (
        f"<h2>{title}</h2>{region}<table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _effect_cells(effect: Mapping[str, object]) -> list[str]:
    status = str(effect["status"])
    mark = f'<span class="mark {STATUSES.get(status, "plain")}">{escape(status)}</span>'
    listed = effect["listed_from"]
    seen = f"listed from {str(listed)[11:19]}" if listed else "never listed"
    return [
        _cell(_code(effect["id"]), _said(effect["operation"])),
        _cell(_clock(effect["created"]), escape(seen)),
        _cell(mark, _said(effect["failure_code"], "")),
        _amount_cell(effect),
        _cell(f"<bdi>{_said(effect['counterparty'])}</bdi>", _said(effect["account"])),
        _key_cell(effect["idempotency_key"], effect["reference"]),
        _cell(f"request {_said(effect['request_no'])}", _short(effect["request_id"])),
    ]


def _request_cells(row: Row) -> list[str]:
    request = as_request(row)
    kind, words = OUTCOMES.get(str(row["outcome"]), ("plain", str(row["outcome"])))
    status = f"{row['status']} " if row["status"] is not None else ""
    replayed = ", stored answer" if row["replayed"] else ""
    query = f"?{row['query']}" if row["query"] else ""
    mark = f'<span class="mark {kind}">{escape(status + words + replayed)}</span>'
    return [
        _cell(f'<span class="number">{row["no"]}</span>', ""),
        _cell(_clock(request["arrived_at"]), ""),
        _cell(mark, f"{row['objects']} made" if row["kind"] == "create" else ""),
        _cell(_code(f"{row['method']} {row['path']}"), _code(query)),
        _key_cell(row["key"], row["reference"]),
        _cell(_said(row["attempt"]), _short(row["request_id"])),
        _cell(_said(row["fault"] or None, "none"), ""),
    ]


def _amount_cell(effect: Mapping[str, object]) -> str:
    if effect["amount"] is None:
        return _cell("&ndash;", "")
    amount = f'<span class="number">{effect["amount"]} {_said(effect["currency"])}</span>'
    return _cell(amount, "minor units")


def _key_cell(key: object, reference: object) -> str:
    return _cell(_link("key", key), _link("reference", reference))


def _link(name: str, value: object) -> str:
    """A text that leads to everything with the same text."""
    if value is None:
        return "&ndash;"
    return f'<a href="?{name}={quote(str(value))}"><bdi>{escape(str(value))}</bdi></a>'


def _cell(first: str, second: str) -> str:
    return f'{first}<span class="second">{second}</span>' if second else first


def _code(text: object) -> str:
    return f"<code>{_said(text)}</code>" if text else ""


def _clock(moment_text: object) -> str:
    """Month, day and time to the millisecond; the page says that it is UTC."""
    return f"<time>{escape(str(moment_text)[5:23].replace('T', ' '))}</time>"


def _short(request_id: object) -> str:
    """A request id as its first eight characters and its attempt."""
    if request_id is None:
        return ""
    whole = str(request_id)
    group, dot, attempt = whole.rpartition(".")
    return _code(f"{group[:8]}…{dot}{attempt}" if group else whole)


def _said(value: object, missing: str = "&ndash;") -> str:
    return missing if value is None else escape(str(value))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox provider</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<header>
<h1>Sandbox provider</h1>
<p>What the provider was asked, and what it did. Read only.
Its clock, in UTC like all times here: <time>{now}</time></p>
</header>
<main>
<form method="get">{form}<button>Filter</button><a href="?">All</a></form>
<p class="summary"><strong>{summary}.</strong>{newest}</p>
{effects}
{requests}
</main>
</body>
</html>
"""
