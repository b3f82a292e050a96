"""What we sent beside what the provider holds, field by field."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ledger.rules.contract import Contract, FoundObject, IntentView
from ledger.rules.money import format_amount
from ledger.rules.words import duration

_VERSION = re.compile(r":v[1-9][0-9]*$")
_INTENT_KEY = re.compile(r"[^:]+(?::[^:]+)+:v[1-9][0-9]*")


class Verdict(StrEnum):
    """How one field of the found object stands to what was sent."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_COMPARED = "not_compared"


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """One row of sent and found. `note` says the difference, or why there is no comparison."""

    name: str
    sent: str | datetime | None
    found: str | datetime | None
    verdict: Verdict
    note: str = ""


def compare(
    view: IntentView, found: FoundObject, contract: Contract
) -> tuple[FieldComparison, ...]:
    """Every field of `found` against the intent; those in `contract.compared_fields` decide.

    A compared field that we sent and the provider does not state differs: silence is no agreement.
    """
    rows = [*_amount(view, found, contract)] if contract.has_amount else []
    rows += [
        _text("counterparty", view.counterparty, found.counterparty, contract),
        _text("account", view.account, found.account, contract),
        _created(view, found, contract),
        _reference(view, found),
        FieldComparison("status", None, found.status, Verdict.NOT_COMPARED, "the provider's word"),
    ]
    return tuple(rows)


def agrees(rows: tuple[FieldComparison, ...]) -> bool:
    """Whether no row differs."""
    return all(row.verdict is not Verdict.DIFFERS for row in rows)


def differences(rows: tuple[FieldComparison, ...]) -> str:
    """The differing rows in words: `amount 40.00 less, recipient not the same`."""
    return ", ".join(
        f"{shown(row.name)} {row.note}" for row in rows if row.verdict is Verdict.DIFFERS
    )


def names_another(view: IntentView, found: FoundObject) -> bool:
    """Whether the object's reference is the whole intent key of another intent."""
    reference = found.reference or ""
    both_keys = _INTENT_KEY.fullmatch(reference) and _INTENT_KEY.fullmatch(view.intent_key)
    return bool(both_keys) and reference != view.intent_key


def names_of(view: IntentView) -> frozenset[str]:
    """How an object may name this intent: by its keys, with or without the version."""
    return frozenset({view.intent_key, view.provider_key, _VERSION.sub("", view.intent_key)})


def shown(name: str) -> str:
    """A field's name on screen."""
    return {"counterparty": "recipient", "created": "time"}.get(name, name)


def _amount(
    view: IntentView, found: FoundObject, contract: Contract
) -> tuple[FieldComparison, FieldComparison]:
    sent_text = _written(view.amount_minor, view.currency)
    found_text = _written(found.amount_minor, found.currency)
    amount = FieldComparison("amount", sent_text, found_text, Verdict.SAME)
    if "amount" not in contract.compared_fields:
        amount = FieldComparison(
            "amount", sent_text, found_text, Verdict.NOT_COMPARED, "not compared here"
        )
    elif view.amount_minor is None or found.amount_minor is None:
        note = "not stated by the provider" if found.amount_minor is None else "unknown on our side"
        amount = FieldComparison("amount", sent_text, found_text, Verdict.DIFFERS, note)
    elif view.amount_minor != found.amount_minor:
        note = _apart(view.amount_minor, found.amount_minor, view.currency)
        amount = FieldComparison("amount", sent_text, found_text, Verdict.DIFFERS, note)
    return amount, _text("currency", view.currency, found.currency, contract, required=True)


def _apart(sent: int, found: int, currency: str | None) -> str:
    """A difference in words; a whole power of ten is named, since it betrays a wrong exponent."""
    size = (
        f"{format_amount(abs(found - sent), currency or '')} {'more' if found > sent else 'less'}"
    )
    for factor in (10, 100, 1000):
        if sent and found == sent * factor:
            return f"{size}, {factor} times what we sent"
        if found and sent == found * factor:
            return f"{size}, a {factor}th of what we sent"
    return size


def _text(
    name: str, sent: str | None, found: str | None, contract: Contract, *, required: bool = False
) -> FieldComparison:
    if name not in contract.compared_fields:
        return FieldComparison(name, sent, found, Verdict.NOT_COMPARED, "not compared here")
    if sent is None and not required:
        return FieldComparison(name, sent, found, Verdict.NOT_COMPARED, "not part of the request")
    if found is None or sent is None:
        note = "not stated by the provider" if found is None else "unknown on our side"
        return FieldComparison(name, sent, found, Verdict.DIFFERS, note)
    if sent != found:
        return FieldComparison(name, sent, found, Verdict.DIFFERS, "not the same")
    return FieldComparison(name, sent, found, Verdict.SAME)


def _created(view: IntentView, found: FoundObject, contract: Contract) -> FieldComparison:
    """Made between the first sending and the end of the last one, within the tolerance."""
    first, last = view.first_dispatch_at, view.last_dispatch_at
    row = ("created", first, found.created_at)
    if "created" not in contract.compared_fields:
        return FieldComparison(*row, Verdict.NOT_COMPARED, "not compared here")
    if first is None or last is None:
        return FieldComparison(*row, Verdict.NOT_COMPARED, "it is not known when this was sent")
    if found.created_at is None:
        return FieldComparison(*row, Verdict.DIFFERS, "not stated by the provider")
    tolerance = timedelta(seconds=contract.time_tolerance_seconds)
    bound = timedelta(seconds=contract.deadline_seconds + contract.max_in_flight_seconds)
    within = first - tolerance <= found.created_at <= last + bound + tolerance
    nearest = last if found.created_at >= last else first
    note = _time_apart(found.created_at - nearest)
    return FieldComparison(*row, Verdict.SAME if within else Verdict.DIFFERS, note)


def _time_apart(length: timedelta) -> str:
    side = "earlier" if length < timedelta(0) else "later"
    tenths = abs(length) // timedelta(milliseconds=100)
    exact = abs(length) < timedelta(minutes=1)
    size = f"{tenths // 10}.{tenths % 10} s" if exact else duration(length)
    return f"{size} {side}"


def _reference(view: IntentView, found: FoundObject) -> FieldComparison:
    """Not compared, since providers cut and decorate it; but another intent's key is not ours."""
    row = ("reference", view.intent_key, found.reference)
    if found.reference is None:
        return FieldComparison(*row, Verdict.NOT_COMPARED, "not stated by the provider")
    if names_another(view, found):
        return FieldComparison(*row, Verdict.DIFFERS, "names another intent")
    note = "the same" if found.reference == view.intent_key else "not compared"
    return FieldComparison(*row, Verdict.NOT_COMPARED, note)


def _written(minor: int | None, currency: str | None) -> str | None:
    return None if minor is None else format_amount(minor, currency or "")
