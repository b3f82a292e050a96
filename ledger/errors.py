"""Every refusal: a class, a stable code, and words that tell the operator what can be done."""

from typing import Any

from ledger.ids import screen_id


class LedgerError(Exception):
    """A refusal. `code` is stable for machines, `message` speaks to the operator."""

    code = "refused"
    default = "This was refused. Nothing was changed."

    def __init__(self, message: str | None = None, **details: Any) -> None:
        self.message = message or self.default
        self.details = details
        super().__init__(self.message)


class NotPermitted(LedgerError):
    """The person lacks the permission in this tenant, or it ended meanwhile."""

    code = "not_permitted"
    default = (
        "You do not have the right to do this here. A people admin of the tenant can grant it."
    )


class NotFound(LedgerError):
    """No such row in this tenant."""

    code = "not_found"
    default = "There is nothing at this address in this tenant."


class StaleState(LedgerError):
    """The effect moved since it was read."""

    code = "moved"
    default = "This changed while you were reading. Nothing was recorded. Read the case again."


class Lapsed(LedgerError):
    """A resolution outlived its 24 hours."""

    code = "lapsed"
    default = "This resolution has lapsed. Read the case again and decide anew."


class RetryClosed(LedgerError):
    """A retry under the same key is no longer possible, or its proof is too old."""

    code = "retry_closed"
    default = (
        "A retry under the same key is closed: the key window has ended or the last lookup is "
        "older than 10 minutes. Look again."
    )


class DispatchTooLate(LedgerError):
    """The time in which this effect may be sent is over; nothing was sent."""

    code = "dispatch_too_late"
    default = "The time in which this could be sent is over. Nothing was sent."


class SecondPersonNeeded(LedgerError):
    """One person alone may not decide this: its amount, its proof or the policy forbids it."""

    code = "second_person_needed"
    default = "A second person must agree to this. Nobody can decide it alone; escalate it instead."


class EvidenceDoesNotCarry(LedgerError):
    """The evidence named does not prove the decision, or newer evidence speaks against it."""

    code = "evidence_does_not_carry"
    default = "The evidence does not carry this decision. Nothing was recorded."


class NotPossible(LedgerError):
    """The case does not offer this decision; the message says why and what would change it."""

    code = "not_possible"


class BadForm(LedgerError):
    """Something typed or chosen is missing or wrong; `lacks` in the details says what, by field."""

    code = "bad_form"
    default = "Something is missing or does not fit. Nothing was recorded."


class BadIntent(LedgerError):
    """An intent that cannot be recorded: its key, amount, currency or request is malformed."""

    code = "bad_intent"


class _LeadsToACase(LedgerError):
    """A refusal because of another effect: `effect_id` in the details becomes its address.

    `case` in the details is the path below the tenant's own, "effects/eff_…".
    """

    def __init__(self, message: str | None = None, **details: Any) -> None:
        if effect_id := details.get("effect_id"):
            shown = screen_id(effect_id)
            details["case"] = f"effects/{shown}"
            message = f"{message or self.default} Its case is {shown}."
        super().__init__(message, **details)


class DigestMismatch(_LeadsToACase):
    """The intent key exists with another request, provider or amount; the first one stands."""

    code = "digest_mismatch"
    default = "This intent key already stands for another request. The first one is unchanged."


class Frozen(_LeadsToACase):
    """Another effect for the same object and operation has no proven outcome yet."""

    code = "frozen"
    default = (
        "Another effect for the same object and operation has no proven outcome, so nothing new is "
        "sent for it. Settle that case first, or say why this one is distinct."
    )


class ReceiptTaken(_LeadsToACase):
    """The provider object is already the receipt of another effect."""

    code = "receipt_taken"
    default = "This provider object is already the receipt of another effect."


class FenceLost(LedgerError):
    """The claim is no longer this worker's: its lease ended, or the state moved."""

    code = "fence_lost"
    default = "The claim is no longer held, so this result changes no state."


class InsideTransaction(LedgerError):
    """A dispatch inside an open transaction could be sent and then forgotten."""

    code = "inside_transaction"
    default = "Nothing is sent while a database transaction is open. Commit first."


class TooMany(LedgerError):
    """A rate limit; `details` may say when to try again."""

    code = "too_many"
    default = "Too many requests. Wait a moment and try again."


class Conflict(LedgerError):
    """PostgreSQL refused the change by a guard that no friendlier check had caught."""

    code = "refused_by_guard"
    default = "The record refused this change. Nothing was recorded."


_BY_STATE: dict[str, type[LedgerError]] = {
    "AS404": NotFound,
    "AS409": StaleState,
    "AS422": EvidenceDoesNotCarry,
}
_BY_MESSAGE: dict[str, type[LedgerError]] = {
    "not_permitted": NotPermitted,
    "second_person_needed": SecondPersonNeeded,
    "retry_closed": RetryClosed,
    "lapsed": Lapsed,
    "dispatch_too_late": DispatchTooLate,
    "contract_unknown": BadIntent,
    "environment_differs": BadIntent,
    "tenant_unknown": NotFound,
}
_BY_CONSTRAINT: dict[str, type[LedgerError]] = {
    "one_object_at_a_time": Frozen,
    "one_receipt_one_effect": ReceiptTaken,
}


def from_database(sqlstate: str | None, message: str, constraint: str | None) -> LedgerError | None:
    """The refusal that a guard's SQLSTATE, message or constraint stands for, or None."""
    if constraint in _BY_CONSTRAINT:
        return _BY_CONSTRAINT[constraint]()
    if message in _BY_MESSAGE:
        return _BY_MESSAGE[message]()
    if sqlstate in _BY_STATE:
        return _BY_STATE[sqlstate]()
    return Conflict() if sqlstate and sqlstate.startswith(("23", "AS")) else None
