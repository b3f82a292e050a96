"""What a provider's direct answer proves: shared defaults, refined by the contract's lists."""

from ledger.rules.comparison import agrees, compare
from ledger.rules.contract import (
    Answer,
    Confirmed,
    Contract,
    Declined,
    FoundObject,
    IntentView,
    NotProcessed,
    Phase,
    SendOutcome,
    Standing,
    Unclear,
)
from ledger.rules.states import Cause

ACKNOWLEDGEMENTS = frozenset({"received", "accepted", "pending", "processing", "queued"})
_ACCEPTED = 202
_CONFLICT = 409
_PROXY_ANSWERS = frozenset({408, 425, 499})
_SERVER_ERRORS = range(500, 600)
_SUCCESS = range(200, 300)
_REFUSALS = range(400, 500)


def classify(
    contract: Contract,
    view: IntentView,
    *,
    phase: Phase,
    status: int | None,
    code: str | None,
    found: FoundObject | None,
    malformed: bool,
    retry_after: int | None,
    answer: Answer,
    silence: Cause = Cause.TIMEOUT,
) -> SendOutcome:
    """What one answer to a send means; anything not listed as definitive is unclear.

    `view.attempts` counts this one. `silence` says what ended the wait where no whole answer came.
    A server error is definitive or "not processed" only where the contract lists it together with
    its status, as `503/703`, since a proxy may speak in the provider's place.
    """
    if phase is Phase.NOT_SENT:
        return NotProcessed(answer, retry_after)
    if phase is not Phase.ANSWERED:
        return Unclear(silence, answer, found=found)
    if _not_processed(contract, view, status=status, code=code):
        return NotProcessed(answer, retry_after)
    if status is None:
        return Unclear(Cause.UNREADABLE_ANSWER, answer, found=found)
    if status in _SERVER_ERRORS:
        return _server_error(contract, status, code, answer, found=found)
    if malformed:
        return Unclear(Cause.UNREADABLE_ANSWER, answer, found=found)
    if status in _SUCCESS:
        return _success(contract, view, status=status, code=code, found=found, answer=answer)
    if status == _CONFLICT:
        return Unclear(Cause.IN_PROGRESS, answer, found=found)
    if status in _REFUSALS and status not in _PROXY_ANSWERS and contract.refusal(code):
        return _declined(code, answer, found=found)
    return Unclear(Cause.UNLISTED_ANSWER, answer, found=found)


def _not_processed(
    contract: Contract, view: IntentView, *, status: int | None, code: str | None
) -> bool:
    """Listed as not processed, and nothing before it can have been: the only attempt."""
    names = {f"{status}/{code}"}
    if status is not None and status not in _SERVER_ERRORS and status not in _SUCCESS:
        names |= {str(status), code or ""}
    return view.attempts <= 1 and bool(names & set(contract.not_processed))


def _server_error(
    contract: Contract, status: int, code: str | None, answer: Answer, *, found: FoundObject | None
) -> SendOutcome:
    listed = f"{status}/{code}"
    if contract.refusal(listed):
        return _declined(listed, answer, found=found)
    return Unclear(Cause.SERVER_ERROR, answer, server_error=True, found=found)


def _declined(code: str | None, answer: Answer, *, found: FoundObject | None) -> SendOutcome:
    """A listed refusal, unless the same answer shows an object that did take effect."""
    if found is not None and found.standing is not Standing.FAILED_NO_EFFECT:
        return Unclear(Cause.MISMATCH, answer, found=found)
    return Declined(code or "", answer)


def _success(
    contract: Contract,
    view: IntentView,
    *,
    status: int,
    code: str | None,
    found: FoundObject | None,
    answer: Answer,
) -> SendOutcome:
    if contract.refusal(code):
        return _declined(code, answer, found=found)
    acknowledged = code in ACKNOWLEDGEMENTS or (status == _ACCEPTED and contract.has_amount)
    if acknowledged or (found is not None and found.standing is Standing.PENDING):
        return Unclear(Cause.ACKNOWLEDGED_ONLY, answer, found=found)
    if found is None:
        return Unclear(Cause.UNREADABLE_ANSWER, answer)
    if found.standing is not Standing.TOOK_EFFECT:
        return Unclear(Cause.UNLISTED_ANSWER, answer, found=found)
    if not agrees(compare(view, found, contract)):
        return Unclear(Cause.MISMATCH, answer, found=found)
    return Confirmed(found, answer)
