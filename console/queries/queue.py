"""The queue: one page of open effects in an index's order, its counts, and a row's neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from console.queries.asking import EXPIRING_SECONDS, NO_FINDING, STATES, Asked, Place, Sort, View
from ledger.ids import from_screen_id
from ledger.sql import row, rows

PAGE = 50
MOST = 10_000

# The columns of each order, as their index has them, and how a written place is read back.
ORDERS: dict[Sort, tuple[tuple[str, str], ...]] = {
    Sort.PRIORITY: (
        ("priority", "smallint"),
        ("key_until", "timestamptz"),
        ("rank_minor", "bigint"),
        ("effect_id", "uuid"),
    ),
    Sort.AMOUNT: (("rank_minor", "bigint"), ("effect_id", "uuid")),
    Sort.AGE: (("since", "timestamptz"), ("effect_id", "uuid")),
    Sort.KEY: (("key_until", "timestamptz"), ("effect_id", "uuid")),
    Sort.NEWEST: (("effect_id", "uuid"),),
}

LARGEST = {"smallint": 2**15, "bigint": 2**63}
FOREVER = "infinity"  # the key window's end where the provider keeps no key


@dataclass(frozen=True, slots=True)
class Row:
    """One open effect as the list shows it. `brief` is its finding in a few words."""

    effect_id: UUID
    state: int
    priority: int
    rank_minor: int
    since: datetime
    created_at: datetime
    counts_from: datetime | None
    finding: str | None
    cause: str | None
    last_no: int
    looks: int
    intent_key: str
    operation: str
    provider: str
    recipient_label: str | None
    object_type: str | None
    object_ref: str | None
    amount_minor: int | None
    currency: str
    workflow_id: str | None
    first_attempt_at: datetime | None
    escalated_to: str | None
    next_check_at: datetime | None
    due_at: datetime | None
    key_until: datetime | None
    brief: str | None
    place: Place


COLUMNS = tuple(field.name for field in fields(Row))[:-3]  # the last three are expressions


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order, and whether there are more on either side."""

    rows: tuple[Row, ...]
    more_before: bool
    more_after: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """How many open effects share these values; `matching` also fulfil the number filters."""

    state: int
    provider: str
    operation: str
    finding: str
    escalated: bool
    expiring: bool
    count: int
    matching: int
    without: dict[str, int]
    next_key: datetime | None
    oldest: datetime | None
    exposed_minor: int
    entries: int


class Condition:
    """A WHERE clause put together from fixed fragments and parameters."""

    def __init__(self, tenant_id: UUID) -> None:
        self.parts = ["o.tenant_id = %s"]
        self.params: list[Any] = [tenant_id]

    def add(self, fragment: str, *params: Any) -> None:
        """And `fragment`, a constant of this module."""
        self.parts.append(fragment)
        self.params.extend(params)

    def __str__(self) -> str:
        return " and ".join(self.parts)


def page(tenant_id: UUID, *, asked: Asked, now: datetime) -> Page:
    """The page of the queue that `asked` names: at most 50 rows, read in index order."""
    backwards = asked.before is not None
    found = _read(tenant_id, asked, now=now, backwards=backwards, limit=PAGE + 1)
    more, shown = len(found) > PAGE, found[:PAGE]
    if backwards:
        return Page(tuple(reversed(shown)), more_before=more, more_after=True)
    return Page(tuple(shown), more_before=asked.after is not None, more_after=more)


def around(
    tenant_id: UUID, *, asked: Asked, at: Place, now: datetime
) -> tuple[Row | None, Row | None]:
    """The rows before and after the place `at` in the list that `asked` names."""
    before = _read(tenant_id, asked, now=now, backwards=True, limit=1, at=at)
    after = _read(tenant_id, asked, now=now, backwards=False, limit=1, at=at)
    return (before[0] if before else None, after[0] if after else None)


def first(tenant_id: UUID, *, asked: Asked, now: datetime) -> Row | None:
    """The row at the head of the list that `asked` names, or None of an empty list."""
    found = _read(tenant_id, asked, now=now, backwards=False, limit=1)
    return found[0] if found else None


def facets(tenant_id: UUID, *, asked: Asked, now: datetime) -> tuple[Facet, ...]:
    """Every combination of state, provider, operation, finding and escalation, with its counts.

    Tabs, filter menus, the count of the list and its gauges are sums of these.
    """
    tests = _number_tests(asked, now)
    every = " and ".join(test for test, _ in tests.values()) or "true"
    params: list[Any] = [now + timedelta(seconds=EXPIRING_SECONDS)]
    params += [value for _, values in tests.values() for value in values]
    without = ""
    for name in tests:
        others = [pair for other, pair in tests.items() if other != name]
        without += f", count(*) filter (where {' and '.join(t for t, _ in others) or 'true'})"
        params += [value for _, values in others for value in values]
    found = rows(
        "select o.state, o.provider, o.operation, coalesce(o.finding, 'none'),"
        " o.escalated_at is not null, o.key_until < %s, count(*),"
        f" count(*) filter (where {every}),"
        " min(o.key_until) filter (where o.key_until > now() and o.key_until < 'infinity'),"
        f" min(o.since), sum(-o.rank_minor)::text,"
        f" sum(o.last_no)::bigint{without}"
        " from effect_open o where o.tenant_id = %s group by 1, 2, 3, 4, 5, 6",
        (*params, tenant_id),
    )
    return tuple(_facet(values, tuple(tests)) for values in found)


def _facet(values: tuple[Any, ...], tests: tuple[str, ...]) -> Facet:
    state, provider, operation, finding, escalated, expiring, count, matching = values[:8]
    next_key, oldest, exposed, entries, *without = values[8:]
    return Facet(
        state=state,
        provider=provider,
        operation=operation,
        finding=finding,
        escalated=escalated,
        expiring=expiring,
        count=count,
        matching=matching,
        without=dict(zip(tests, without, strict=True)),
        next_key=next_key,
        oldest=oldest,
        exposed_minor=int(exposed),
        entries=entries,
    )


def of(tenant_id: UUID, *, effect_id: UUID, sort: Sort) -> Place | None:
    """The place of an open effect in an order; None once it is settled."""
    found = row(
        f"select {_place(ORDERS[sort])} from effect_open o"
        " where o.tenant_id = %s and o.effect_id = %s",
        (tenant_id, effect_id),
    )
    return Place(tuple(found[0].split("~"))) if found else None


def pulse(tenant_id: UUID) -> tuple[int, int]:
    """How many effects are unknown, and the sum of their last entries' numbers."""
    found = row(
        "select count(*), coalesce(sum(last_no), 0)::bigint from effect_open"
        " where tenant_id = %s and state = 3",
        (tenant_id,),
    )
    return (found[0], found[1]) if found else (0, 0)


def unknown(tenant_id: UUID) -> int:
    """How many effects are unknown, counted to one past `MOST`."""
    found = row(
        "select count(*) from (select 1 from effect_open where tenant_id = %s and state = 3"
        " limit %s) counted",
        (tenant_id, MOST + 1),
    )
    return found[0] if found else 0


def _read(
    tenant_id: UUID,
    asked: Asked,
    *,
    now: datetime,
    backwards: bool,
    limit: int,
    at: Place | None = None,
) -> list[Row]:
    order = ORDERS[asked.sort]
    descending = backwards != (asked.sort is Sort.NEWEST)
    direction = " desc" if descending else ""
    where = _where(tenant_id, asked, now)
    if start := at or asked.after or asked.before:
        _start(where, start, order, descending=descending)
    columns = ", ".join(f"o.{name}" for name in COLUMNS)
    found = rows(
        f"select {columns}, nullif(o.key_until, '{FOREVER}'), o.brief, {_place(order)}"
        f" from effect_open o where {where}"
        f" order by {', '.join(f'o.{name}{direction}' for name, _ in order)} limit %s",
        (*where.params, limit),
    )
    return [_row(values) for values in found]


def _row(values: tuple[Any, ...]) -> Row:
    *columns, key_until, brief, at = values
    named = dict(zip(COLUMNS, columns, strict=True))
    return Row(**named, key_until=key_until, brief=brief, place=Place(tuple(at.split("~"))))


def _place(order: Sequence[tuple[str, str]]) -> str:
    return f"concat_ws('~', {', '.join(f'o.{name}' for name, _ in order)})"


def _start(
    where: Condition, at: Place, order: Sequence[tuple[str, str]], *, descending: bool
) -> None:
    """Begin behind a place. A place of another order, or a broken one, begins at the start."""
    if len(at.values) != len(order):
        return
    values = [_typed(kind, text) for (_, kind), text in zip(order, at.values, strict=True)]
    if any(value is None for value in values):
        return
    marks = ", ".join(f"%s::{kind}" for _, kind in order)
    names = ", ".join(f"o.{name}" for name, _ in order)
    where.add(f"({names}) {'<' if descending else '>'} ({marks})", *values)


def _typed(kind: str, text: str) -> object | None:
    """The value that a place's text names in a column of this kind; None where it is none."""
    try:
        match kind:
            case "uuid":
                return from_screen_id(text)
            case "timestamptz":
                return text if text == FOREVER else datetime.fromisoformat(text)
            case _:
                number, largest = int(text), LARGEST[kind]
                return number if -largest < number < largest else None
    except ValueError:
        return None


def _where(tenant_id: UUID, asked: Asked, now: datetime) -> Condition:
    where = Condition(tenant_id)
    if asked.view is not View.OPEN:
        where.add("o.state = 3")
    if asked.view is View.EXPIRING:
        where.add("o.key_until < %s", now + timedelta(seconds=EXPIRING_SECONDS))
    if asked.view is View.ESCALATED:
        where.add("o.escalated_at is not null")
    if states := asked.words.get("state"):
        where.add("o.state = any(%s)", [STATES[name] for name in states])
    if providers := asked.words.get("provider"):
        where.add("o.provider = any(%s)", list(providers))
    if operations := asked.words.get("operation"):
        where.add("o.operation = any(%s)", list(operations))
    if findings := asked.words.get("finding"):
        named = [name for name in findings if name != NO_FINDING]
        nothing = " or o.finding is null" if NO_FINDING in findings else ""
        where.add(f"(o.finding = any(%s){nothing})", named)
    if asked.escalated is not None:
        where.add(f"o.escalated_at is {'not null' if asked.escalated else 'null'}")
    for test, values in _number_tests(asked, now).values():
        where.add(test, *values)
    return where


def _number_tests(asked: Asked, now: datetime) -> dict[str, tuple[str, list[Any]]]:
    """The number filters in force, by name: their test and its parameters."""
    tests: dict[str, tuple[str, list[Any]]] = {}
    if asked.amount and asked.amount.currency:
        test = "(o.currency = %s and o.amount_minor >= %s)"
        tests["amount"] = (test, [asked.amount.currency, asked.amount.minor])
    elif asked.amount:
        tests["amount"] = ("o.rank_minor <= %s", [-asked.amount.minor])
    if asked.age_seconds is not None:
        tests["age"] = ("o.since <= %s", [now - timedelta(seconds=asked.age_seconds)])
    if asked.key_left_seconds is not None:
        tests["key_left"] = ("o.key_until < %s", [now + timedelta(seconds=asked.key_left_seconds)])
    return tests
