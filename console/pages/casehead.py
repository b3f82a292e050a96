"""The head of a case: what it is, where it stands, and the facts that a decision needs at once."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.urls import reverse

from console import formats as f
from console.formats import Formats
from console.pages import states
from console.pages.states import urgency
from console.people import Seat
from ledger.facts import Case
from ledger.ids import screen_id
from ledger.rules import digest, priority
from ledger.rules.findings import FindingCode
from ledger.rules.standing import summary
from ledger.rules.states import State


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of the strip under the heading."""

    name: str
    value: Any
    note: str = ""
    mono: bool = False
    copy: str = ""
    url: str = ""
    tone: str = ""


def of(case: Case, *, seat: Seat, formats: Formats) -> dict[str, Any]:
    """The head's values."""
    effect, identity = case.effect, screen_id(case.effect_id)
    recipient = f.visible(effect.recipient_label)
    ranked = _rank(case, formats)
    return {
        "id": identity,
        "short_id": f.cut(identity, longest=18),
        "title": f"{case.contract.title} · {recipient}" if recipient else case.contract.title,
        "summary": formats.say(summary(case.facts)),
        "badge": states.badge(
            effect.state,
            escalated=case.escalated,
            proven_later=effect.cause is not None,
            by_itself=_settled_itself(case),
        ),
        "tags": _tags(case),
        "priority": ranked.priority if ranked else 0,
        "rule": ranked.rule if ranked else "",
        "key": f.cut(effect.intent_key, longest=60),
        "whole_key": f.visible(effect.intent_key),
        "tenant": seat.tenant_name,
        "amount": f.amount(effect.amount_minor, currency=effect.currency),
        "currency": "" if effect.amount_minor is None else effect.currency,
        "money": f.amount_with_currency(effect.amount_minor, currency=effect.currency),
        "recipient": recipient or "no recipient named",
        "facts": _facts(case, seat, formats),
    }


def _settled_itself(case: Case) -> bool:
    return any(entry.kind == "settled_itself" for entry in case.entries)


def _tags(case: Case) -> tuple[str, ...]:
    """What else is true of the effect, in a few words each."""
    effect = case.effect
    found = []
    if case.state is State.UNKNOWN:
        found.append("Frozen: no retry, no failover")
    if case.taken_in:
        found.append("Taken in")
    if case.state is State.REJECTED and _settled_itself(case):
        found.append("By automation")
    if case.state is State.REJECTED:
        found.append(states.REJECTIONS.get(effect.reject_kind or "", "").capitalize())
    if case.state is State.PREPARED and effect.attempts:
        found.append("Safe to retry: same key")
    if effect.distinct_because:
        found.append(f"Distinct: {f.visible(effect.distinct_because)[:60]}")
    return tuple(found)


def _rank(case: Case, formats: Formats) -> priority.Rank | None:
    """The priority by the rule as it holds now; the queue's own mark may be some minutes older."""
    opened = case.open
    if opened is None or case.state is not State.UNKNOWN:
        return None
    return priority.rank(
        state=case.state,
        amount_base_minor=-opened.rank_minor if case.effect.amount_minor is not None else None,
        has_amount=case.contract.has_amount,
        since=opened.since,
        key_until=case.facts.key_until,
        finding=FindingCode(opened.finding) if opened.finding else None,
        now=formats.now,
    )


def _facts(case: Case, seat: Seat, formats: Formats) -> tuple[Fact, ...]:
    effect, contract = case.effect, case.contract
    object_words = f"{effect.object_type or 'object'} {f.visible(effect.object_ref)}"
    found = [
        Fact("Provider", contract.provider_title, f"account {f.visible(effect.account)}"),
        _workflow(case, seat),
        Fact("Object", object_words if effect.object_ref else f.NOTHING),
        _attempt(case, formats),
        *_key_window(case, formats),
        _digest(case),
    ]
    if effect.provider_result_id:
        receipt = f.visible(effect.provider_result_id)
        found.append(Fact("Receipt", f.cut(receipt, longest=26), mono=True, copy=receipt))
    return tuple(found)


def _workflow(case: Case, seat: Seat) -> Fact:
    effect = case.effect
    if not effect.workflow_id:
        return Fact("Workflow", f.NOTHING)
    search = f"{reverse('search', args=[seat.slug])}?q="
    step = f"step {f.visible(effect.step_id)}" if effect.step_id else ""
    shown = f.cut(effect.workflow_id, longest=26)
    return Fact("Workflow", shown, step, mono=True, url=search + quote(effect.workflow_id))


def _attempt(case: Case, formats: Formats) -> Fact:
    effect = case.effect
    if effect.last_attempt_at is None:
        return Fact("Last attempt", "not sent")
    number = f"attempt {effect.attempts}, " if effect.attempts > 1 else ""
    return Fact(
        "Last attempt",
        formats.when_second(effect.last_attempt_at),
        f"{number}{formats.age(effect.last_attempt_at)} ago",
    )


def _key_window(case: Case, formats: Formats) -> tuple[Fact, ...]:
    """How long the provider still knows the key, while that matters."""
    if case.state is not State.UNKNOWN or case.taken_in:
        return ()
    until = case.facts.key_until
    if until is None:
        return (Fact("Key window", "no key kept"),)
    value = formats.left(until) if until > formats.now else f"expired {formats.left(until)}"
    return (Fact("Key window", value, tone=urgency(until - formats.now)),)


def _digest(case: Case) -> Fact:
    raw = bytes(case.effect.request_digest)
    return Fact("Request digest", digest.short(raw), mono=True, copy=f"sha256:{raw.hex()}")
