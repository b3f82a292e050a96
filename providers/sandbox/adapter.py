"""The sandbox's adapter: its contracts, one send without a retry, and lookups that never create."""

from ledger.rules.classify import classify
from ledger.rules.contract import (
    Contract,
    FoundObject,
    IntentView,
    NotProcessed,
    SendOutcome,
    Unclear,
)
from ledger.rules.digest import BadJson, loads
from ledger.rules.states import Cause
from providers.http import Trouble
from providers.sandbox import parse
from providers.sandbox.contracts import CONTRACTS
from providers.sandbox.exchange import PATHS, Exchange, NotSetUp, create, unsent
from providers.sandbox.looking import look

__all__ = ["CONTRACTS", "NAME", "dispatch", "look"]

NAME = "sandbox"


def dispatch(view: IntentView, contract: Contract, *, send_by: float) -> SendOutcome:
    """Send the effect once. What the network does comes back as an outcome, never as an exception.

    Nothing leaves when the request says another amount, currency or counterparty than the effect,
    nor after `send_by`.
    """
    path = PATHS[view.operation]
    if not _says_the_same(view, contract):
        return NotProcessed(unsent("POST", path=path, code="request_differs"))
    headers = {
        "Content-Type": "application/json",
        "X-Request-Id": f"{view.effect_id}.{view.fence}",
        "X-Attempt": str(view.fence),
    }
    if contract.key_window_seconds is not None:
        headers["Idempotency-Key"] = view.provider_key
    try:
        got = create(
            view,
            path=path,
            deadline_seconds=contract.deadline_seconds,
            send_by=send_by,
            headers=headers,
            content=view.request.encode(),
        )
    except NotSetUp:
        return NotProcessed(unsent("POST", path=path, code="not_set_up"))
    return _outcome(got, view, contract)


def _says_the_same(view: IntentView, contract: Contract) -> bool:
    try:
        request = loads(view.request)
    except BadJson:
        return False
    if not isinstance(request, dict) or request.get("counterparty") != view.counterparty:
        return False
    if not contract.has_amount:
        return True
    amount = request.get("amount")
    whole = isinstance(amount, int) and not isinstance(amount, bool)
    return whole and amount == view.amount_minor and request.get("currency") == view.currency


def _outcome(got: Exchange, view: IntentView, contract: Contract) -> SendOutcome:
    trouble = got.reply.trouble
    if trouble is Trouble.LEASE_OVER:
        return Unclear(Cause.LEASE_LOST, got.answer)
    found, malformed = _found(got, view, contract)
    return classify(
        contract,
        view,
        phase=got.answer.phase,
        status=got.answer.status,
        code=got.answer.code,
        found=found,
        malformed=malformed,
        retry_after=got.answer.retry_after_seconds,
        answer=got.answer,
        silence=Cause.TIMEOUT if trouble is Trouble.TIMEOUT else Cause.RESET,
    )


def _found(got: Exchange, view: IntentView, contract: Contract) -> tuple[FoundObject | None, bool]:
    """The object in the answer, and whether the answer is not as documented."""
    if not got.is_whole:
        return None, False
    if got.value is None:
        return None, True
    if "id" not in got.value:
        # An error and a mere acknowledgement have a shape of their own; all else is odd.
        return None, got.answer.code is None
    try:
        found = parse.found(got.value, operation=view.operation, has_amount=contract.has_amount)
    except parse.Unreadable:
        return None, True
    return parse.clean(found, view=view), False
