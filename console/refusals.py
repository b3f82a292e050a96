"""The one place where a refusal becomes an HTTP answer, and the words that go with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ledger.errors import LedgerError
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
# By how its sentence begins, the form's field that a shortcoming stands beside.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "Choose a reason": ("reason_code",),
    "Choose the evidence": ("evidence",),
    "{nos} does not carry": ("evidence",),
    "Say why": ("words",),
    "At most": ("words",),
    "Type the last 4": ("object_last_four",),
    "Type the amount that {title} holds": ("found_amount",),
    "Type the amount that we": ("intent_amount",),
    "Not what {title} holds": ("object_last_four", "found_amount"),
    "Not what we meant": ("intent_amount",),
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
    lacks: tuple[Words, ...] = details.get("lacks", ())
    fields = {str(name): str(text) for name, text in details.get("fields", {}).items()}
    for lack in lacks:
        fields |= dict.fromkeys(fields_of(lack), say(lack))
    apart = [say(lack) for lack in lacks if not fields_of(lack)]
    return Refusal(status, TITLES[status], " ".join([words, *apart]), fields, refusal.code)


def fields_of(lack: Words) -> tuple[str, ...]:
    """The form fields that a shortcoming stands beside; none where it belongs to no single one."""
    return next((names for begins, names in FIELDS.items() if lack.template.startswith(begins)), ())


def lacking(permission: str, *, tenant: str) -> str:
    """Which right is missing, in words."""
    right = NEEDED.get(permission, permission)
    return f"Your account does not have the right to {right} in {tenant}."
