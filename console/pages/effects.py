"""The list of all effects: rows, the states to choose from, and the way to older ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.safestring import SafeString

from console import formats as f
from console.formats import Formats
from console.pages import queue, states
from console.pages.states import Badge
from console.people import Seat
from console.queries.history import STATES, STRETCH, TERMINAL, Past, Stretch
from ledger.ids import from_screen_id, screen_id
from ledger.rules.states import State

TABS = (
    ("Settled", TERMINAL),
    ("Confirmed", ("confirmed",)),
    ("Rejected", ("rejected",)),
    ("Open", ("prepared", "dispatched", "unknown")),
    ("All", tuple(STATES)),
)
KNOWN = frozenset({"state", "provider", "older"})


@dataclass(frozen=True, slots=True)
class Asked:
    """The address of the list, understood."""

    states: tuple[str, ...] = TERMINAL
    provider: str | None = None
    older: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One effect in the list."""

    url: str
    id: str
    title: str
    key: str
    whole_key: str
    badge: Badge
    note: str
    amount: str
    currency: str
    receipt: str
    created: SafeString | str
    completed: SafeString | str


def read(given: Mapping[str, str]) -> Asked:
    """The address whose query is `given`; what has no meaning becomes a notice."""
    notices = [
        f"There is no filter “{f.visible(name)[:40]}”." for name in given if name not in KNOWN
    ]
    states = tuple(word for word in given.get("state", "").split(",") if word) or TERMINAL
    if not set(STATES).issuperset(states):
        notices.append(f"“{f.visible(given['state'])[:60]}” is no value for the filter state.")
        states = TERMINAL
    older = given.get("older") or None
    if older is not None and from_screen_id(older) is None:
        notices.append("The place to go on from is not known.")
        older = None
    provider = given.get("provider", "").replace("\0", "")[:100] or None
    return Asked(states, provider, older, tuple(notices))


def values(stretch: Stretch, *, asked: Asked, seat: Seat, formats: Formats) -> dict[str, Any]:
    """Everything that the list's template names, beside the frame."""
    base = reverse("effects", args=[seat.slug])
    return {
        "tabs": [
            {"title": title, "url": f"{base}?{_query(names)}", "current": names == asked.states}
            for title, names in TABS
        ],
        "rows": [_line(past, seat, formats) for past in stretch.rows],
        "older": f"{base}?{_query(asked.states, older=stretch.older)}" if stretch.older else "",
        "newest": f"{base}?{_query(asked.states)}" if asked.older else "",
        "looked_at": f"{stretch.looked_at:,}" if stretch.looked_at == STRETCH else "",
        "notices": asked.notices,
    }


def _query(states: tuple[str, ...], *, older: UUID | None = None) -> str:
    given = {"state": ",".join(states)} if states != TERMINAL else {}
    return urlencode(given | ({"older": screen_id(older)} if older else {}))


def _line(past: Past, seat: Seat, formats: Formats) -> Line:
    identity = screen_id(past.effect_id)
    return Line(
        url=reverse("case", args=[seat.slug, past.effect_id]),
        id=identity,
        title=queue.title(past.provider, operation=past.operation, recipient=past.recipient_label),
        key=f.cut(past.intent_key),
        whole_key=f.visible(past.intent_key),
        badge=states.badge(past.state, proven_later=past.cause is not None),
        note=_note(past),
        amount=f.amount(past.amount_minor, currency=past.currency),
        currency="" if past.amount_minor is None else past.currency,
        receipt=f.cut(past.provider_result_id, longest=24),
        created=formats.when(past.created_at),
        completed=formats.when(past.completed_at),
    )


def _note(past: Past) -> str:
    if past.state == State.REJECTED:
        why = states.REJECTIONS.get(past.reject_kind or "", "")
        return f"{why}: {f.visible(past.declined_code)}" if past.declined_code else why
    attempts = "attempt" if past.attempts == 1 else "attempts"
    return f"{past.attempts} {attempts}"
