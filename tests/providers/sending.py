"""Sending through the sandbox's adapter in one line, and what came of it."""

from typing import Any

from ledger.rules.contract import Contract, IntentView, SendOutcome, Unclear
from ledger.rules.states import Cause
from providers.http import uptime_seconds
from providers.sandbox import adapter
from tests.providers.intents import view_of
from tests.providers.peer import Sandbox

CONTRACTS = {contract.operation: contract for contract in adapter.CONTRACTS}
LONG_SECONDS = 60.0
CHARGE, PAYOUT, EMAIL = CONTRACTS["charge"], CONTRACTS["payout"], CONTRACTS["email"]


def fresh(log: Sandbox, contract: Contract = CHARGE, **changes: Any) -> IntentView:
    """A view sent now, by the sandbox's clock."""
    return view_of(contract, sent_at=log.now(), **changes)


def dispatch(
    view: IntentView, contract: Contract, *, for_seconds: float = LONG_SECONDS
) -> SendOutcome:
    """Send under a claim that permits it for `for_seconds` more."""
    return adapter.dispatch(view, contract, send_by=uptime_seconds() + for_seconds)


def send_after(
    log: Sandbox, fault: object, contract: Contract = CHARGE, **changes: Any
) -> tuple[SendOutcome, IntentView]:
    """Send a fresh intent into `fault`."""
    view = fresh(log, contract, **changes)
    log.script(fault, reference=view.intent_key)
    return dispatch(view, contract), view


def assert_unclear(outcome: SendOutcome, cause: Cause) -> Unclear:
    """The outcome as unclear, for the cause given."""
    assert isinstance(outcome, Unclear), outcome
    assert outcome.cause is cause
    return outcome
