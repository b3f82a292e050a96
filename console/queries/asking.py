"""What an address asks of the queue: view, filters, order and place; unknown words are named."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import urlencode
from uuid import UUID

from console import formats
from ledger.ids import from_screen_id
from ledger.rules import money
from ledger.rules.findings import FindingCode

LONGEST = 200
MOST_WORDS = 20
NO_FINDING = "none"


class View(StrEnum):
    """The tabs of the queue."""

    NEEDS_ACTION = "needs-action"
    EXPIRING = "expiring"
    ESCALATED = "escalated"
    OPEN = "open"


class Sort(StrEnum):
    """The orders of the queue, each the order of an index."""

    PRIORITY = "priority"
    AMOUNT = "amount"
    AGE = "age"
    KEY = "key"
    NEWEST = "newest"


STATES = {"prepared": 1, "dispatched": 2, "unknown": 3}
FINDINGS = frozenset({code.value for code in FindingCode} | {NO_FINDING})
WORDS = ("state", "provider", "operation", "finding")
NUMBERS = ("amount", "age", "key_left")
KNOWN = frozenset({*WORDS, *NUMBERS, "escalated", "view", "sort", "after", "before", "chosen"})
EXPIRING_SECONDS = 4 * 3600
BEFORE_CODE = re.compile(r"-(?=[A-Za-z]{3}$)")  # gte:10000.00-EUR, so that no blank is needed


@dataclass(frozen=True, slots=True)
class Place:
    """A row's place in an order: the values of that order's columns, the id last."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return "~".join(self.values)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount to reach: in its own `currency`, or converted where `currency` is None."""

    minor: int
    currency: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One address of the queue, understood. `notices` name what was not."""

    view: View = View.NEEDS_ACTION
    sort: Sort = Sort.PRIORITY
    chosen: UUID | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    amount: Amount | None = None
    age_seconds: int | None = None
    key_left_seconds: int | None = None
    escalated: bool | None = None
    after: Place | None = None
    before: Place | None = None
    given: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of the filters in force, in the order in which chips show them."""
        numbers = (self.amount, self.age_seconds, self.key_left_seconds)
        active = [name for name in WORDS if self.words.get(name)]
        active += [name for name, value in zip(NUMBERS, numbers, strict=True) if value is not None]
        return tuple(active + (["escalated"] if self.escalated is not None else []))

    def query(self, **changes: str | None) -> str:
        """This address as a query string, without the place, with `changes`; None drops a name."""
        kept = {name: value for name, value in self.given if name not in ("after", "before")}
        kept |= {name: value for name, value in changes.items() if value is not None}
        kept = {name: value for name, value in kept.items() if changes.get(name, "") is not None}
        return urlencode(kept)

    def without_filters(self) -> str:
        """This address as a query string with its view and order alone."""
        return self.query(**dict.fromkeys((*WORDS, *NUMBERS, "escalated")))


Parser = Callable[[Asked, str, str], Asked | None]


def read(given: Mapping[str, str], *, base_currency: str) -> Asked:
    """The address whose query is `given`; whatever it says that has no meaning becomes a notice."""
    kept = [(n, v.strip()[:LONGEST]) for n, v in given.items() if n in KNOWN and v.strip("\0 ")]
    notices = [f"There is no filter “{n[:40]}”." for n in given if n not in KNOWN]
    asked = Asked(given=tuple(kept))
    for name, value in kept:
        understood = None if "\0" in value else _PARSERS[name](asked, value, base_currency)
        if understood is None:
            notices.append(f"“{formats.visible(value)[:60]}” is no value for the filter {name}.")
            asked = replace(asked, given=tuple(g for g in asked.given if g[0] != name))
        else:
            asked = understood
    asked = _in_one_order(asked)
    return replace(asked, notices=tuple(notices))


def _in_one_order(asked: Asked) -> Asked:
    """All open effects have one order, by birth; the other orders belong to unknown ones alone."""
    if asked.view is View.OPEN:
        return replace(asked, sort=Sort.NEWEST)
    return replace(asked, sort=Sort.PRIORITY) if asked.sort is Sort.NEWEST else asked


def _words(name: str, allowed: frozenset[str] | None) -> Parser:
    def parse(asked: Asked, value: str, base: str) -> Asked | None:
        parts = tuple(dict.fromkeys(part for part in value.split(",") if part))
        foreign = allowed is not None and not allowed.issuperset(parts)
        if not parts or len(parts) > MOST_WORDS or foreign:
            return None
        return replace(asked, words={**asked.words, name: parts})

    return parse


def _amount(asked: Asked, value: str, base: str) -> Asked | None:
    text = BEFORE_CODE.sub(" ", value.removeprefix("gte:"))
    code = text[-3:].upper() if text[-3:].isalpha() else None
    currency = code or base
    try:
        found = money.parse(text, currency)
    except (money.BadAmount, KeyError):
        return None
    shown = money.format_money(found.minor_units, currency)
    words = shown if code else f"{shown}, converted"
    return replace(asked, amount=Amount(found.minor_units, code, words))


def _age(asked: Asked, value: str, base: str) -> Asked | None:
    length = formats.seconds(value.removeprefix("gte:"))
    return None if length is None else replace(asked, age_seconds=length)


def _key_left(asked: Asked, value: str, base: str) -> Asked | None:
    length = formats.seconds(value.removeprefix("lt:"))
    return None if length is None else replace(asked, key_left_seconds=length)


def _escalated(asked: Asked, value: str, base: str) -> Asked | None:
    answer = {"yes": True, "no": False}.get(value)
    return None if answer is None else replace(asked, escalated=answer)


def _view(asked: Asked, value: str, base: str) -> Asked | None:
    return replace(asked, view=View(value)) if value in set(View) else None


def _sort(asked: Asked, value: str, base: str) -> Asked | None:
    return replace(asked, sort=Sort(value)) if value in set(Sort) else None


def _chosen(asked: Asked, value: str, base: str) -> Asked | None:
    effect_id = from_screen_id(value)
    return None if effect_id is None else replace(asked, chosen=effect_id)


def _after(asked: Asked, value: str, base: str) -> Asked | None:
    found = _place(value)
    return None if found is None else replace(asked, after=found)


def _before(asked: Asked, value: str, base: str) -> Asked | None:
    found = _place(value)
    return None if found is None else replace(asked, before=found)


def _place(value: str) -> Place | None:
    parts = tuple(value.split("~"))
    return Place(parts) if from_screen_id(parts[-1]) else None


_PARSERS: Mapping[str, Parser] = {
    "state": _words("state", frozenset(STATES)),
    "provider": _words("provider", None),
    "operation": _words("operation", None),
    "finding": _words("finding", FINDINGS),
    "amount": _amount,
    "age": _age,
    "key_left": _key_left,
    "escalated": _escalated,
    "view": _view,
    "sort": _sort,
    "chosen": _chosen,
    "after": _after,
    "before": _before,
}
