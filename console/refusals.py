"""The one place where a refusal becomes an HTTP answer, and the words that go with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ledger.errors import LedgerError
from ledger.rules.forms import Lack
from ledger.rules.words import Words

STATUS: Mapping[str, int] = {
    "not_found": 404,
    "moved": 409,
    "frozen": 409,
    "receipt_taken": 409,
    "digest_mismatch": 409,
    "fence_lost": 409,
    "refused_by_guard": 409,
    "lapsed": 410,
    "retry_closed": 410,
    "dispatch_too_late": 410,
    "bad_form": 422,
    "bad_intent": 422,
    "evidence_does_not_carry": 422,
    "not_possible": 422,
    "claimed": 423,
    "not_permitted": 403,
    "second_person_needed": 403,
    "too_many": 429,
}
CONFLICT = 409
TITLES: Mapping[int, str] = {
    403: "A rule forbids this",
    404: "Not found",
    409: "This changed while you were reading",
    410: "The time for this is over",
    422: "Not recorded yet",
    423: "Someone else holds this case",
    429: "Too soon",
}
NEEDED: Mapping[str, str] = {
    "view": "see the queue and its cases",
    "look_up": "ask a provider",
    "propose": "decide and escalate",
    "approve": "sign another person's resolution",
    "reveal": "unmask a field",
    "audit": "read and export the history",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal on screen: its status, a heading, what happened, and messages by form field."""

    status: int
    title: str
    words: str
    fields: Mapping[str, str]
    code: str


def shown(refusal: LedgerError, *, say: Callable[[Words], str]) -> Refusal:
    """How `refusal` is answered; `say` writes moments for the reader.

    An unlisted code is a conflict, never a success.
    """
    status = STATUS.get(refusal.code, CONFLICT)
    words, details = refusal.message, refusal.details
    if isinstance(details.get("words"), Words):
        words = say(details["words"])
    lacks: tuple[Lack, ...] = details.get("lacks", ())
    fields = {lack.field: say(lack.words) for lack in lacks if lack.field}
    apart = [say(lack.words) for lack in lacks if not lack.field]
    return Refusal(status, TITLES[status], " ".join([words, *apart]), fields, refusal.code)


def lacking(permission: str, *, tenant: str) -> str:
    """Which right is missing, in words."""
    right = NEEDED.get(permission, permission)
    return f"Your account does not have the right to {right} in {tenant}."
