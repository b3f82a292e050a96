"""The queue's filters: those in force, those on offer with counts, and why a list is empty."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse

from console import formats as f
from console.formats import Formats
from console.pages import states
from console.people import Seat
from console.queries import queue
from console.queries.asking import STATES, Asked, View
from console.queries.queue import Facet
from ledger.rules.states import State
from ledger.rules.words import duration

FILTER_TITLES = {
    "state": "State",
    "provider": "Provider",
    "operation": "Operation",
    "finding": "Last finding",
    "amount": "Amount",
    "age": "Age",
    "key_left": "Key left",
    "escalated": "Escalated",
}
AGES = (("1h", "1 h"), ("4h", "4 h"), ("8h", "8 h"), ("1d", "1 day"), ("3d", "3 days"))
_NOTHING = {
    View.EXPIRING: "No unknown effect's key expires within 4 hours.",
    View.ESCALATED: "No unknown effect is escalated.",
}
_IN_VIEW: dict[View, Callable[[Facet], bool]] = {
    View.NEEDS_ACTION: lambda facet: facet.state == State.UNKNOWN,
    View.EXPIRING: lambda facet: facet.state == State.UNKNOWN and facet.expiring,
    View.ESCALATED: lambda facet: facet.state == State.UNKNOWN and facet.escalated,
    View.OPEN: lambda facet: facet.count > 0,
}
ESCALATIONS = (("yes", "Yes"), ("no", "No"))


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter in force, and the address without it."""

    title: str
    value: str
    url: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a filter menu."""

    value: str
    title: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """One filter of the menu: its name in the address and its options with counts."""

    name: str
    title: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Empty:
    """What an empty list says, and the one way on."""

    title: str
    words: str
    button: str
    url: str


def in_view(view: View) -> Callable[[Facet], bool]:
    """Whether a facet belongs to a view."""
    return _IN_VIEW[view]


def number(count: int) -> str:
    """A count, exact up to 10,000."""
    return f"{queue.MOST:,}+" if count > queue.MOST else f"{count:,}"


def fits(facet: Facet, *, asked: Asked, but: str | None = None) -> bool:
    """Whether a facet passes the view and every word filter, `but` one left out."""
    values = {
        "state": next(name for name, number in STATES.items() if number == facet.state),
        "provider": facet.provider,
        "operation": facet.operation,
        "finding": facet.finding,
    }
    for name, wanted in asked.words.items():
        if name != but and values[name] not in wanted:
            return False
    if asked.escalated is not None and but != "escalated" and facet.escalated != asked.escalated:
        return False
    return in_view(asked.view)(facet)


def matching(facets: Iterable[Facet], *, asked: Asked, but: str | None = None) -> int:
    """How many effects the whole address matches, `but` one filter left out."""
    return sum(
        facet.without.get(but, facet.matching) if but else facet.matching
        for facet in facets
        if fits(facet, asked=asked, but=but)
    )


def chips(seat: Seat, *, asked: Asked) -> tuple[Chip, ...]:
    """The filters in force."""
    base = reverse("queue", args=[seat.slug])
    return tuple(
        Chip(FILTER_TITLES[name], value(asked, name=name), f"{base}?{asked.query(**{name: None})}")
        for name in asked.filters
    )


def value(asked: Asked, *, name: str) -> str:
    """A filter's value in words."""
    if name == "amount" and asked.amount:
        return f"≥ {asked.amount.text}"
    if name == "age":
        return f"≥ {_length(asked.age_seconds)}"
    if name == "key_left":
        return f"< {_length(asked.key_left_seconds)}"
    if name == "escalated":
        return "yes" if asked.escalated else "no"
    titles = states.FINDING_TITLES if name == "finding" else {}
    return ", ".join(titles.get(word, f.visible(word)) for word in asked.words[name])


def _length(seconds: int | None) -> str:
    return duration(timedelta(seconds=seconds or 0))


def menus(facets: Iterable[Facet], *, asked: Asked) -> tuple[Menu, ...]:
    """The filter menus: every value that occurs in the view, with its count there."""
    found = [facet for facet in facets if in_view(asked.view)(facet)]
    pick: dict[str, Callable[[Facet], str]] = {
        "provider": lambda facet: facet.provider,
        "operation": lambda facet: facet.operation,
        "finding": lambda facet: facet.finding,
    }
    if asked.view is View.OPEN:
        pick["state"] = lambda facet: State(facet.state).word
    return tuple(_menu(name, found, asked, key) for name, key in pick.items())


def _menu(name: str, facets: list[Facet], asked: Asked, key: Callable[[Facet], str]) -> Menu:
    counts: dict[str, int] = {}
    for facet in facets:
        counts[key(facet)] = counts.get(key(facet), 0) + facet.count
    chosen = asked.words.get(name, ())
    titles = states.FINDING_TITLES if name == "finding" else {}
    choices = tuple(
        Choice(word, f"{titles.get(word, f.visible(word))} ({number(count)})", (word,) == chosen)
        for word, count in sorted(counts.items(), key=lambda pair: -pair[1])
    )
    several = (
        (Choice(",".join(chosen), value(asked, name=name), chosen=True),) if chosen[1:] else ()
    )
    return Menu(name, FILTER_TITLES[name], several + choices)


def empty(facets: Iterable[Facet], *, seat: Seat, asked: Asked, formats: Formats) -> Empty:
    """Why the list is empty: nothing needs anybody, or a filter leaves everything out."""
    found = tuple(facets)
    base = reverse("queue", args=[seat.slug])
    if asked.filters:
        return _filtered_out(found, base, asked)
    if asked.view in (View.EXPIRING, View.ESCALATED):
        return Empty("Nothing here", _NOTHING[asked.view], "See all that need action", base)
    since = _proven_before(found, formats.now)
    words = f"Every effect sent before {formats.clock(since)} has a proven outcome."
    return Empty(
        "Nothing needs you", words, "See all effects", reverse("effects", args=[seat.slug])
    )


def _proven_before(facets: Iterable[Facet], now: datetime) -> datetime:
    return min((x.oldest for x in facets if x.state == State.DISPATCHED and x.oldest), default=now)


def _filtered_out(facets: tuple[Facet, ...], base: str, asked: Asked) -> Empty:
    count = len(asked.filters)
    head = f"No effect matches {count} filters" if count > 1 else "No effect matches this filter"
    name = max(asked.filters, key=lambda each: matching(facets, asked=asked, but=each))
    left = matching(facets, asked=asked, but=name)
    if not left:
        words = "Nor does any without one of them."
        return Empty(head, words, "Drop all filters", f"{base}?{asked.without_filters()}")
    words = f"{number(left)} match without “{FILTER_TITLES[name]} {value(asked, name=name)}”."
    return Empty(head, words, "Drop that filter", f"{base}?{asked.query(**{name: None})}")


def choices(options: Iterable[tuple[str, str]], *, chosen: str) -> tuple[Choice, ...]:
    """Options as a menu shows them."""
    return tuple(Choice(word, title, word == chosen) for word, title in options)
