"""The sandbox's answers read strictly: anything that is not exactly as documented is unreadable."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ledger.rules.contract import FoundObject, IntentView, Standing
from ledger.rules.digest import BadJson, Json, loads
from ledger.rules.redaction import scrub

TEXT_MAX = 200

STANDINGS = {
    "succeeded": Standing.TOOK_EFFECT,
    "pending": Standing.PENDING,
    "failed": Standing.FAILED_NO_EFFECT,
    "reversed": Standing.REVERSED,
}

_ID = re.compile(r"[a-z]{2}_[0-9a-f]{8,64}")
# A code is a word; five digits in it could be part of a number that is nobody's business.
_CODE = re.compile(r"(?!(?:[a-z_]*[0-9]){5})[a-z][a-z0-9_]{0,63}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_AMOUNT_MAX = 10**15


class Unreadable(ValueError):
    """An answer that is not as documented; it proves nothing."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. `objects` and `raw` go together; `cursor` is None on the last page."""

    objects: tuple[FoundObject, ...]
    raw: tuple[Mapping[str, Json], ...]
    cursor: str | None


def mapping(body: bytes) -> Mapping[str, Json]:
    """The JSON object in `body`. Raises Unreadable."""
    try:
        value = loads(body)
    except BadJson as error:
        raise Unreadable(str(error)) from None
    if not isinstance(value, dict):
        raise Unreadable("the answer is not an object")
    return value


def code(value: Mapping[str, Json]) -> str | None:
    """The code of an error in the provider's own shape, `received` for a mere acknowledgement.

    None for anything else, an object among it.
    """
    if value == {"received": True}:
        return "received"
    error = value.get("error")
    said = error.get("code") if isinstance(error, dict) else None
    return said if isinstance(said, str) and _CODE.fullmatch(said) else None


def clean(seen: FoundObject, *, view: IntentView) -> FoundObject:
    """`seen` as it may be kept: texts that are not our own come without secrets."""

    def kept(text: str | None, *ours: str | None) -> str | None:
        return text if text is None or text in ours else scrub(text)

    return replace(
        seen,
        counterparty=kept(seen.counterparty, view.counterparty),
        account=kept(seen.account, view.account),
        reference=kept(seen.reference, view.intent_key),
        request_id=kept(seen.request_id, *view.provider_request_ids),
    )


def found(value: Mapping[str, Json], *, operation: str, has_amount: bool) -> FoundObject:
    """The object in `value`. Raises Unreadable where a field is missing, odd, or another's kind."""
    object_id, status = _text(value, "id"), _text(value, "status")
    if not object_id or not _ID.fullmatch(object_id):
        raise Unreadable("the object's id is odd")
    if value.get("object") != operation:
        raise Unreadable("the object is of another kind")
    if status not in STANDINGS:
        raise Unreadable("the object's status is not a documented one")
    return FoundObject(
        object_id=object_id,
        standing=STANDINGS[status],
        status=status,
        amount_minor=_amount(value, has_amount=has_amount),
        currency=_currency(value, has_amount=has_amount),
        counterparty=_text(value, "counterparty"),
        account=_text(value, "account"),
        created_at=_moment(value, "created"),
        reference=_text(value, "reference"),
        request_id=_text(value, "request_id"),
    )


def page(value: Mapping[str, Json], *, operation: str, has_amount: bool) -> Page:
    """A page of a list. Raises Unreadable where it, or any object on it, is not as documented."""
    data, more, cursor = value.get("data"), value.get("has_more"), value.get("next_cursor")
    if not isinstance(data, list) or not isinstance(more, bool):
        raise Unreadable("the list has no data, or does not say whether there is more")
    if more != isinstance(cursor, str):
        raise Unreadable("the list says that there is more and does not say where, or the reverse")
    raw = tuple(item for item in data if isinstance(item, dict))
    if len(raw) != len(data):
        raise Unreadable("the list holds something other than objects")
    objects = tuple(found(item, operation=operation, has_amount=has_amount) for item in raw)
    return Page(objects, raw, cursor if isinstance(cursor, str) else None)


def _text(value: Mapping[str, Json], name: str) -> str | None:
    """A text or null; the field itself must be there."""
    if name not in value:
        raise Unreadable(f"{name} is missing")
    text = value[name]
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > TEXT_MAX:
        raise Unreadable(f"{name} is not a text of at most {TEXT_MAX} characters")
    return text


def _amount(value: Mapping[str, Json], *, has_amount: bool) -> int | None:
    amount = value.get("amount")
    if not has_amount:
        return None
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 < amount <= _AMOUNT_MAX:
        raise Unreadable("the amount is not a whole number above 0")
    return amount


def _currency(value: Mapping[str, Json], *, has_amount: bool) -> str | None:
    currency = value.get("currency")
    if not has_amount:
        return None
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise Unreadable("the currency is not three capital letters")
    return currency


def _moment(value: Mapping[str, Json], name: str) -> datetime:
    text = _text(value, name) or ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Unreadable(f"{name} is not a time") from None
    if at.tzinfo is None:
        raise Unreadable(f"{name} does not say its time zone")
    return at
