"""The evidence of a case as a timeline: every entry, and the moments that change what it means."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from uuid import UUID

from console.formats import Formats
from console.pages import entries
from console.pages.entries import Item
from ledger.facts import Case
from ledger.rules.findings import FindingCode

FOLD_FROM = 3
SHOWN_AT_ONCE = 60


def of(
    case: Case, *, people: Mapping[UUID, str], formats: Formats, oldest_first: bool
) -> tuple[Item, ...]:
    """Every entry of the case with its marks; newest first unless told otherwise."""
    items = tuple(_folded(case, people, formats))
    marked = sorted((*items, *_marks(case, formats)), key=_moment)
    return tuple(marked if oldest_first else reversed(marked))


def persons(case: Case) -> frozenset[UUID]:
    """The persons whose names the timeline needs."""
    asked = {lookup.asked_by for lookup in case.lookups}
    decided = {resolution.person_id for resolution in case.resolutions}
    escalated = {escalation.person_id for escalation in case.escalations}
    return frozenset(person for person in asked | decided | escalated if person)


def _moment(item: Item) -> datetime:
    assert item.at is not None
    return item.at


def _folded(case: Case, people: Mapping[UUID, str], formats: Formats) -> Iterator[Item]:
    """The entries; three or more failing lookups in a row become one item."""
    failing = [
        e.finding is not None and e.finding.code is FindingCode.FAILING for e in case.entries
    ]
    for fails, pairs in groupby(zip(failing, case.entries, strict=True), key=lambda pair: pair[0]):
        items = [
            entries.item(entry, case=case, people=people, formats=formats) for _, entry in pairs
        ]
        if not fails or len(items) < FOLD_FROM:
            yield from items
            continue
        first, last = items[0], items[-1]
        yield replace(
            last,
            head="Lookup failing",
            rest=f"{len(items)} times, {first.number} to {last.number}",
            lines=(f"Since {formats.second(_moment(first))}. {last.lines[0]}",),
        )


def _marks(case: Case, formats: Formats) -> tuple[Item, ...]:
    """Moments that have passed and change what an entry after them means."""
    facts = case.facts
    counts_from = case.open.counts_from if case.open else None
    named = (
        (counts_from, "Settle time passed at {at}. From here a lookup counts."),
        (facts.retry_until, "Retry under the same key closed at {at}."),
        (facts.key_until, "{title} may have forgotten the key at {at}."),
    )
    title = case.contract.provider_title
    return tuple(
        Item(
            "",
            "",
            "",
            "",
            "",
            "",
            words.format(at=formats.second(at), title=title),
            mark=True,
            at=at,
        )
        for at, words in named
        if at is not None and at <= facts.now
    )
