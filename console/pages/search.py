"""What a search found and why, or what was tried."""

from typing import Any

from django.urls import reverse

from console import formats as f
from console.formats import Formats
from console.pages import states
from console.people import Seat
from console.queries.search import MOST, Hit
from ledger.ids import screen_id

TRIED = (
    "effect id, and intent key or its beginning",
    "provider object id and provider request id",
    "workflow id",
    "among open effects: object, amount and recipient",
)


def values(hits: tuple[Hit, ...], *, text: str, seat: Seat, formats: Formats) -> dict[str, Any]:
    """Everything that the search template names, beside the frame."""
    return {
        "text": f.visible(text),
        "rows": [_line(hit, seat, formats) for hit in hits],
        "cut": f"The first {MOST} are shown. Write more of the id to narrow it."
        if hits[MOST - 1 :]
        else "",
        "tried": TRIED,
    }


def _line(hit: Hit, seat: Seat, formats: Formats) -> dict[str, Any]:
    return {
        "url": reverse("case", args=[seat.slug, hit.effect_id]),
        "id": screen_id(hit.effect_id),
        "title": f.visible(hit.recipient_label) or hit.operation,
        "operation": hit.operation,
        "key": f.visible(hit.intent_key),
        "badge": states.badge(hit.state),
        "amount": f.amount_with_currency(hit.amount_minor, currency=hit.currency),
        "created": formats.when(hit.created_at),
        "why": f"matches its {hit.why}"
        if not hit.why.startswith(("its", "intent key b"))
        else hit.why,
    }
