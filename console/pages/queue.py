"""The queue page: rows, tabs, gauges, order and paging."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console import formats as f
from console.formats import Formats
from console.pages import filters, states
from console.pages.states import Badge, Mark, Window
from console.people import Seat
from console.queries.asking import Asked, Sort, View
from console.queries.queue import Facet, Page, Row
from ledger import contracts
from ledger.ids import screen_id
from ledger.rules.states import State
from ledger.rules.words import duration

TABS = (
    (View.NEEDS_ACTION, "Needs action"),
    (View.EXPIRING, "Key expires < 4 h"),
    (View.ESCALATED, "Escalated"),
    (View.OPEN, "All open"),
)
SORTS = {
    Sort.PRIORITY: "Priority",
    Sort.AMOUNT: "Amount, largest first",
    Sort.AGE: "Age, oldest first",
    Sort.KEY: "Key window, shortest first",
    Sort.NEWEST: "Newest first",
}


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row of the list, every cell written out."""

    id: str
    url: str
    peek: str
    chosen: bool
    priority: int
    title: str
    key: str
    whole_key: str
    badge: Badge
    mark: Mark
    amount: str
    currency: str
    holds: str
    window: Window
    age: str


@dataclass(frozen=True, slots=True)
class Tab:
    """One view with its count."""

    title: str
    url: str
    count: str
    hot: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Gauge:
    """One figure of the situation, and the list behind it."""

    title: str
    value: str
    note: str
    tone: str
    url: str


def values(
    facets: tuple[Facet, ...], *, page: Page, seat: Seat, asked: Asked, formats: Formats
) -> dict[str, Any]:
    """Everything that the queue's template names, beside the frame and the preview."""
    base = reverse("queue", args=[seat.slug])
    given = dict(asked.given)
    unknown = [facet for facet in facets if facet.state == State.UNKNOWN]
    return {
        "queue_url": base,
        "tabs": tabs(facets, seat=seat, asked=asked),
        "gauges": gauges(facets, seat=seat, formats=formats) if unknown else (),
        "chips": filters.chips(seat, asked=asked),
        "menus": filters.menus(facets, asked=asked),
        "ages": filters.choices(filters.AGES, chosen=given.get("age", "").removeprefix("gte:")),
        "escalations": filters.choices(filters.ESCALATIONS, chosen=given.get("escalated", "")),
        "amount": asked.amount.text.removesuffix(", converted") if asked.amount else "",
        "kept": [(name, given[name]) for name in ("view", "key_left") if name in given],
        "cleared": f"{base}?{asked.without_filters()}",
        "sorts": filters.choices(((s.value, t) for s, t in SORTS.items()), chosen=asked.sort.value),
        "sort": SORTS[asked.sort],
        "sortable": asked.view is not View.OPEN,
        "columns": columns(seat, asked=asked),
        "rows": shown_rows(page, seat=seat, asked=asked, formats=formats),
        "paging": paging(page, seat=seat, asked=asked),
        "empty": None
        if page.rows
        else filters.empty(facets, seat=seat, asked=asked, formats=formats),
        "notices": asked.notices,
        "counts": counts(facets, page=page, asked=asked, formats=formats),
        "pulse": pulse(
            seat, asked=asked, seen=(sum(x.count for x in unknown), sum(x.entries for x in unknown))
        ),
    }


def counts(
    facets: tuple[Facet, ...], *, page: Page, asked: Asked, formats: Formats
) -> Mapping[str, str]:
    """How many there are, how many match, how many are shown, and when that was read."""
    unknown = sum(facet.count for facet in facets if facet.state == State.UNKNOWN)
    matching = filters.matching(facets, asked=asked)
    total = filters.number(unknown)
    effects = "effect" if unknown == 1 else "effects"
    sentence = f"{total} {effects} without a proven outcome"
    if asked.filters:
        sentence = f"{filters.number(matching)} match, of {sentence}"
    shown = f"{len(page.rows)} of {filters.number(matching)} shown"
    read = f"{formats.now.astimezone(formats.zone):%H:%M}"
    return {"total": total if unknown else "", "sentence": sentence, "shown": shown, "read": read}


def pulse(
    seat: Seat, *, asked: Asked, seen: tuple[int, int], now: tuple[int, int] | None = None
) -> dict[str, str]:
    """What has moved since the list was read. `seen` and `now` are (effects, sum of entries)."""
    asks = urlencode({"count": seen[0], "entries": seen[1], "list": asked.query()})
    refresh = f"{reverse('queue', args=[seat.slug])}?{asked.query()}"
    url = f"{reverse('queue_pulse', args=[seat.slug])}?{asks}"
    return {"url": url, "refresh": refresh.rstrip("?"), "words": _moved(seen, now or seen)}


def _moved(seen: tuple[int, int], now: tuple[int, int]) -> str:
    more = now[0] - seen[0]
    if more > 0:
        return f"{more:,} more"
    if more < 0:
        return f"{-more:,} settled"
    return "New evidence" if now[1] != seen[1] else ""


def shown_rows(page: Page, *, seat: Seat, asked: Asked, formats: Formats) -> tuple[ShownRow, ...]:
    """The rows of `page` as they stand in the table."""
    return tuple(_row(row, seat, asked, formats) for row in page.rows)


def _row(row: Row, seat: Seat, asked: Asked, formats: Formats) -> ShownRow:
    identity = screen_id(row.effect_id)
    sent = row.first_attempt_at if row.state != State.PREPARED else None
    return ShownRow(
        id=identity,
        url=case_url(seat, identity=identity, asked=asked, place=str(row.place)),
        peek=f"{reverse('queue', args=[seat.slug])}?{asked.query(chosen=identity)}",
        chosen=row.effect_id == asked.chosen,
        priority=row.priority,
        title=title(row.provider, operation=row.operation, recipient=row.recipient_label),
        key=f.cut(row.intent_key),
        whole_key=f.visible(row.intent_key),
        badge=states.badge(row.state, escalated=row.escalated_to is not None),
        mark=_mark(row, formats),
        amount=f.amount(row.amount_minor, currency=row.currency),
        currency="" if row.amount_minor is None else row.currency,
        holds=holds(row.object_type, object_ref=row.object_ref, workflow_id=row.workflow_id),
        window=states.window(
            sent, key_until=row.key_until, counts_from=row.counts_from, formats=formats
        ),
        age=formats.age(row.since),
    )


def _mark(row: Row, formats: Formats) -> Mark:
    if row.state == State.UNKNOWN:
        return states.mark(
            row.finding, brief=row.brief, counts_from=row.counts_from, formats=formats
        )
    return Mark(
        "", "clock", "Waits to be sent" if row.state == State.PREPARED else "Answer awaited"
    )


def case_url(seat: Seat, *, identity: str, asked: Asked, place: str) -> str:
    """The case's address, with the list it was opened from, so that J and K can follow it."""
    url = reverse("case", args=[seat.slug, identity])
    return f"{url}?{urlencode({'list': asked.query(chosen=None), 'at': place})}"


def title(provider: str, *, operation: str, recipient: str | None) -> str:
    """What an effect is in one line: `Payout · IBAN ending 4471`."""
    name = contracts.current(provider, operation).title
    return f"{name} · {f.visible(recipient)}" if recipient else name


def holds(object_type: str | None, *, object_ref: str | None, workflow_id: str | None) -> str:
    """What waits for this effect: its object, else its workflow."""
    if object_ref:
        return f.cut(f"{object_type or 'object'} {object_ref}", longest=26)
    return f.cut(workflow_id, longest=26) if workflow_id else "nothing waits"


def tabs(facets: Iterable[Facet], *, seat: Seat, asked: Asked) -> tuple[Tab, ...]:
    """The views with their counts; the one that asks is marked."""
    found = tuple(facets)
    base = reverse("queue", args=[seat.slug])
    shown = []
    for view, name in TABS:
        count = sum(facet.count for facet in found if filters.in_view(view)(facet))
        query = asked.query(view=None if view is View.NEEDS_ACTION else view.value, chosen=None)
        hot = view is View.EXPIRING and count > 0
        shown.append(
            Tab(name, f"{base}?{query}".rstrip("?"), filters.number(count), hot, view is asked.view)
        )
    return tuple(shown)


def gauges(facets: Iterable[Facet], *, seat: Seat, formats: Formats) -> tuple[Gauge, ...]:
    """The situation in four figures, each a link to its list. Nothing is shown for nothing."""
    unknown = [facet for facet in facets if facet.state == State.UNKNOWN]
    base = reverse("queue", args=[seat.slug])
    next_key = min((x.next_key for x in unknown if x.next_key), default=None)
    oldest = min((x.oldest for x in unknown if x.oldest), default=None)
    exposed = sum(x.exposed_minor for x in unknown)
    failing = sum(x.count for x in unknown if x.finding == "failing")
    left = (next_key - formats.now) if next_key else None
    left_words = duration(left) if left else f.NOTHING
    return (
        Gauge("Next key expiry", left_words, "", states.urgency(left), f"{base}?sort=key"),
        Gauge("Oldest", formats.age(oldest), "", "", f"{base}?sort=age"),
        Gauge(
            "Exposed, converted",
            f.amount(exposed, currency=seat.base_currency),
            seat.base_currency,
            "",
            f"{base}?sort=amount",
        ),
        Gauge(
            "Lookups failing",
            filters.number(failing),
            "case" if failing == 1 else "cases",
            "crit" if failing else "",
            f"{base}?finding=failing",
        ),
    )


def columns(seat: Seat, *, asked: Asked) -> dict[str, Any]:
    """The sortable heads: address and `aria-sort` by order."""
    base = reverse("queue", args=[seat.slug])
    directions = {Sort.PRIORITY: "ascending", Sort.AMOUNT: "descending", Sort.AGE: "descending"}
    return {
        order.value: {
            "url": f"{base}?{asked.query(sort=order.value)}",
            "aria": directions.get(order, "ascending") if order is asked.sort else "none",
            "on": order is asked.sort,
        }
        for order in SORTS
    }


def paging(page: Page, *, seat: Seat, asked: Asked) -> dict[str, str]:
    """The addresses of the pages on either side, empty where there is none."""
    base = reverse("queue", args=[seat.slug])
    first, last = (page.rows[0], page.rows[-1]) if page.rows else (None, None)
    return {
        "first": f"{base}?{asked.query()}" if page.more_before else "",
        "before": f"{base}?{asked.query(before=str(first.place))}"
        if first and page.more_before
        else "",
        "after": f"{base}?{asked.query(after=str(last.place))}" if last and page.more_after else "",
    }
