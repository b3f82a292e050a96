"""The case file: standing, comparison, evidence, decision, and what stands beside them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from console import formats as f
from console import people
from console.formats import Formats
from console.pages import casehead, compare, contracts, decide, evidence, looking, scale, states
from console.pages.contracts import Fact
from console.pages.decide import Entered
from console.people import Seat
from console.queries import asking, queue
from console.queries import case as beside
from console.queries.asking import Asked, Place, View
from ledger.facts import Case
from ledger.ids import screen_id
from ledger.rules.standing import Line, standing
from ledger.rules.states import State

COLUMNS = (
    ("proven", "Proven", "p", "check", "Nothing is proven yet."),
    ("proves_nothing", "Known, but proves nothing", "k", "dash", "Nothing else is known."),
    ("not_known", "Not known", "u", "help", "Nothing that a decision needs."),
)
LISTS = {
    View.NEEDS_ACTION: "Queue",
    View.EXPIRING: "Queue, key expires < 4 h",
    View.ESCALATED: "Queue, escalated",
    View.OPEN: "Queue, all open",
}
ON_THE_CASE = (
    "Key window",
    "Same key at once",
    "Normal response",
    "Settle time",
    "Server errors",
    "Dispute window",
)


@dataclass(frozen=True, slots=True)
class Came:
    """Where the reader came from: the list, the place in it, and both as they travel on."""

    asked: Asked
    at: Place | None
    listed: str
    place: str

    @property
    def query(self) -> str:
        """Both as a query string, empty where the reader came from no list."""
        return urlencode({"list": self.listed, "at": self.place}) if self.place else ""


def came(given: Mapping[str, str], *, seat: Seat) -> Came:
    """The list that an address or a form says the reader came from; else the whole queue."""
    listed, place = given.get("list", "")[:1000], given.get("at", "").replace("\0", "")[:300]
    asked = asking.read(dict(parse_qsl(listed)), base_currency=seat.base_currency)
    return Came(asked, Place(tuple(place.split("~"))) if place else None, listed, place)


def values(
    case: Case,
    *,
    seat: Seat,
    formats: Formats,
    given: Mapping[str, str],
    entered: Entered,
) -> dict[str, Any]:
    """Everything that the case's template names, beside the frame and what just happened."""
    named = people.names(evidence.persons(case))
    from_list = came(given, seat=seat)
    oldest = given.get("order") == "oldest"
    step, others = decide.panel(
        case,
        seat=seat,
        formats=formats,
        asked=given.get("decide", ""),
        entered=entered,
        query=from_list.query,
    )
    return {
        "head": casehead.of(case, seat=seat, formats=formats),
        "back": _back(case, seat, formats, from_list),
        "came": from_list,
        "standing": _standing(case, formats),
        "read": {"at": formats.when_second(formats.now), "version": case.effect.version},
        "comparison": compare.of(case, formats=formats),
        "first_look": _first_look(case, formats),
        "items": evidence.of(case, people=named, formats=formats, oldest_first=oldest),
        "order": _order(case, seat, from_list, oldest=oldest),
        "next_look": _next_look(case, formats),
        "looking": looking.under_way(case, seat=seat, formats=formats),
        "look": looking.button(case, seat=seat),
        "next": step,
        "others": others,
        "scale": _scale(case, formats),
        "escalation": _escalation(case, named, formats),
        "held": _held(case, seat, formats),
        "contract": _contract(case, seat),
        "neighbours": _neighbours(case, seat, formats),
        "nearest": f"{2 * beside.NEAREST:,}",
    }


def _back(case: Case, seat: Seat, formats: Formats, came_from: Came) -> dict[str, str]:
    """The way back to the list, and to the cases on either side of this one in it."""
    asked = came_from.asked
    at = came_from.at or queue.of(seat.tenant_id, effect_id=case.effect_id, sort=asked.sort)
    if at:
        before, after = queue.around(seat.tenant_id, asked=asked, at=at, now=formats.now)
    else:
        before, after = None, queue.first(seat.tenant_id, asked=asked, now=formats.now)
    listed = f"{reverse('queue', args=[seat.slug])}?{asked.query()}".rstrip("?")
    urls = {
        name: _case_url(seat, row.effect_id, came_from, str(row.place)) if row else ""
        for name, row in (("previous", before), ("next", after))
    }
    return {"list": listed, "title": LISTS[asked.view], **urls}


def _case_url(seat: Seat, effect_id: UUID, came_from: Came, place: str) -> str:
    url = reverse("case", args=[seat.slug, screen_id(effect_id)])
    return f"{url}?{urlencode({'list': came_from.listed, 'at': place})}"


def _standing(case: Case, formats: Formats) -> list[dict[str, Any]]:
    found = standing(case.facts)
    return [
        {
            "name": name,
            "title": title,
            "tone": tone,
            "icon": icon,
            "empty": empty,
            "lines": [_line(line, formats) for line in getattr(found, name)],
        }
        for name, title, tone, icon, empty in COLUMNS
    ]


def _line(line: Line, formats: Formats) -> dict[str, Any]:
    return {"words": formats.say(line.words), "source": formats.say(line.source), "no": line.no}


def _first_look(case: Case, formats: Formats) -> str:
    """What stands in place of the comparison before any lookup has said something."""
    if case.effect.first_attempt_at is None and not case.taken_in:
        return "Nothing was sent yet."
    at = case.open.due_at if case.open and case.state is State.UNKNOWN else None
    asked = "No lookup has said anything yet."
    return f"{asked} The next is set for {formats.clock(at)}." if at else asked


def _order(case: Case, seat: Seat, came_from: Came, *, oldest: bool) -> dict[str, str]:
    base = reverse("case", args=[seat.slug, screen_id(case.effect_id)])
    given = {} if oldest else {"order": "oldest"}
    query = "&".join(part for part in (urlencode(given), came_from.query) if part)
    title = "Newest first" if oldest else "Oldest first"
    return {"title": title, "url": f"{base}?{query}" if query else base}


def _next_look(case: Case, formats: Formats) -> str:
    """When the schedule asks next, where it does."""
    at = case.facts.next_look_at
    if at is None or case.state is not State.UNKNOWN:
        return ""
    return f"next look {formats.clock(at)}" if at > formats.now else "next look is due"


def _scale(case: Case, formats: Formats) -> scale.Scale | None:
    """The time left, while anything can still be decided."""
    if case.open is None:
        return None
    return scale.of(
        sent_at=case.effect.first_attempt_at,
        counts_from=case.open.counts_from,
        retry_until=case.facts.retry_until,
        key_until=case.facts.key_until,
        formats=formats,
    )


def _escalation(case: Case, named: Mapping[UUID, str], formats: Formats) -> dict[str, Any] | None:
    if not case.escalated or not case.escalations:
        return None
    newest = case.escalations[0]
    who = named.get(newest.person_id) if newest.person_id else None
    by = f"By {who}" if who else "It escalated itself"
    return {
        "owner": f.visible(newest.owner),
        "words": f.visible(newest.words),
        "by": f.visible(by),
        "at": formats.when(newest.at),
        "next_check": formats.when(newest.next_check_at),
    }


def _held(case: Case, seat: Seat, formats: Formats) -> list[dict[str, Any]]:
    """Who waits for the outcome, and whether they have been told."""
    effect = case.effect
    lines: list[dict[str, Any]] = []
    if effect.workflow_id:
        find = f"{reverse('search', args=[seat.slug])}?q={quote(effect.workflow_id)}"
        step = f"at step {f.visible(effect.step_id)}" if effect.step_id else ""
        lines.append(_pair("Workflow", f.cut(effect.workflow_id, longest=30), step, url=find))
        lines += _siblings(case, seat)
    if effect.object_ref:
        lines.append(
            _pair(
                (effect.object_type or "object").capitalize(), f.cut(effect.object_ref, longest=30)
            )
        )
    for told in beside.resumptions(seat.tenant_id, effect_id=case.effect_id):
        at = told.acknowledged_at
        note = f"acknowledged {formats.clock(at)}" if at else "not acknowledged yet"
        lines.append(_pair("Told", formats.when(told.created_at), note))
    return lines


def _siblings(case: Case, seat: Seat) -> list[dict[str, Any]]:
    """The other effects of the workflow, by how they stand."""
    found = beside.of_workflow(seat.tenant_id, workflow_id=case.effect.workflow_id)
    others = [each for each in found if each.effect_id != case.effect_id]
    counts: dict[str, int] = {}
    for each in others:
        word = State(each.state).word
        counts[word] = counts.get(word, 0) + 1
    if not others:
        return []
    words = ", ".join(f"{count} {word}" for word, count in counts.items())
    return [_pair("Its other effects", words)]


def _pair(name: str, value: Any, note: str = "", *, url: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "note": note, "url": url}


def _contract(case: Case, seat: Seat) -> dict[str, Any]:
    """What the contract says that matters here, in the version the effect was sent under."""
    contract = case.contract
    facts: tuple[Fact, ...] = contracts.facts(contract)
    anchor = f"#{contract.provider}-{contract.operation}"
    log = f"{settings.SANDBOX_URL}/_sandbox/?key={case.effect.provider_key}"
    if contract.key_window_seconds is None:
        log = f"{settings.SANDBOX_URL}/_sandbox/?reference={quote(case.effect.intent_key, safe='')}"
    return {
        "version": contract.version,
        "url": f"{reverse('providers', args=[seat.slug])}{anchor}",
        "facts": [fact for fact in facts if fact.name in ON_THE_CASE],
        "refusals": contracts.refusals(contract),
        "runbook": contract.runbook,
        "log_url": log if settings.SANDBOX and case.effect.provider == "sandbox" else "",
    }


def _neighbours(case: Case, seat: Seat, formats: Formats) -> list[dict[str, Any]]:
    effect = case.effect
    like = beside.Likeness(
        created_at=effect.created_at,
        object_type=effect.object_type,
        object_ref=effect.object_ref,
        recipient_token=effect.recipient_token,
        amount_minor=effect.amount_minor,
        currency=effect.currency,
    )
    return [
        {
            "url": reverse("case", args=[seat.slug, screen_id(each.effect_id)]),
            "key": f.cut(each.intent_key),
            "created": formats.when(each.created_at),
            "amount": f.amount_with_currency(each.amount_minor, currency=each.currency),
            "badge": states.badge(each.state),
            "likeness": _likeness(each),
        }
        for each in beside.neighbours(seat.tenant_id, effect_id=case.effect_id, like=like)
    ]


def _likeness(each: beside.Neighbour) -> str:
    same = [
        name
        for name, holds in (
            ("object", each.same_object),
            ("recipient", each.same_recipient),
            ("amount", each.same_amount),
        )
        if holds
    ]
    return f"Same {' and '.join(same)}{' only' if len(same) == 1 else ''}"
