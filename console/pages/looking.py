"""A lookup on the case: the button that asks, how far it is, what it found."""

from dataclasses import dataclass
from datetime import timedelta

from django.urls import reverse

from console.formats import Formats
from console.people import Seat
from ledger.facts import Case
from ledger.ids import screen_id
from ledger.models import Lookup
from ledger.rules.decisions import Decision, option
from ledger.rules.words import duration

MOMENT = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Look:
    """The button: whether it may be pressed, and where it leads."""

    allowed: bool
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Looking:
    """The state of a lookup in words. `poll` while it runs; `done` is where its evidence stands."""

    words: str = ""
    tone: str = ""
    poll: bool = False
    url: str = ""
    done: str = ""
    say: str = ""
    link: str = ""
    link_title: str = ""


def button(case: Case, *, seat: Seat) -> Look:
    """The button for this case and this person."""
    asked = option(Decision.LOOK_UP, case.facts)
    url = reverse("lookups", args=[seat.slug, screen_id(case.effect_id)])
    title = "Look up again" if case.lookups else "Look up"
    return Look(asked.available and seat.may("look_up"), url, title)


def under_way(case: Case, *, seat: Seat, formats: Formats) -> Looking:
    """The lookup that runs on this case now; empty where none does."""
    running = next((each for each in case.lookups if each.finished_at is None), None)
    return of(running, case=case, seat=seat, formats=formats) if running else Looking()


def of(lookup: Lookup, *, case: Case, seat: Seat, formats: Formats) -> Looking:
    """One lookup: waiting, being asked, or done with what it found."""
    identity = screen_id(case.effect_id)
    url = reverse("lookup", args=[seat.slug, identity, lookup.lookup_id])
    if lookup.finished_at is None:
        since = duration(formats.now - lookup.asked_at)
        doing = lookup.progress or "Waits for a worker"
        said = "Looking up" if formats.now - lookup.asked_at < MOMENT else ""
        return Looking(f"{doing}, {since}", poll=True, url=url, say=said)
    entry = next((e for e in case.entries if e.no == lookup.entry_no), None)
    found = formats.say(entry.finding.words) if entry and entry.finding else "The answer is filed."
    # The query makes it another address than a case's own, so that the browser reads it anew.
    entry_name = f"E{lookup.entry_no}"
    place = f"{reverse('case', args=[seat.slug, identity])}?read={entry_name}#{entry_name}"
    tone = "done"
    words = f"Looked up: {found}"
    title = f"Read {entry_name}"
    return Looking(words, tone, done=place, say=words, link=place, link_title=title)
