"""The public client for workflows and workers: everything an integration may import from here.

A workflow process connects as the login `workflow`: it prepares in its own transaction, hears
endings with `due` and acknowledges them. A worker process connects as `worker` and sends inside
`dispatching`.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

import psycopg
from django.db import OperationalError, connection

from ledger import access, dispatch, resumptions
from ledger.dispatch import Claim, Prepared, Settled
from ledger.errors import LedgerError
from ledger.intents import Intent
from ledger.resumptions import Resumption
from ledger.rules.contract import Answer, Confirmed, Phase, SendOutcome, Unclear
from ledger.rules.states import Cause, State

__all__ = [
    "Intent",
    "LedgerError",
    "Prepared",
    "Resumption",
    "Sending",
    "State",
    "acknowledge",
    "dispatching",
    "due",
    "prepare",
]

_T = TypeVar("_T")
_TRIES = 3
_WAITS_SECONDS = (0.2, 1, 3)  # a restart of the database takes a moment
_LOST = (psycopg.OperationalError, OperationalError)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def prepare(wanted: Intent) -> Prepared:
    """Record `wanted`, in the caller's transaction where one is open; see `dispatch.prepare`.

    A deadlock or serialization failure is tried again three times, but inside the caller's own
    transaction it is the caller's to repeat.
    """
    access.enter(wanted.tenant_id)
    return _again(lambda: dispatch.prepare(wanted))


def due(tenant_id: UUID, *, limit: int = 100) -> list[Resumption]:
    """The endings that no workflow of `tenant_id` has acknowledged, oldest first."""
    access.enter(tenant_id)
    return resumptions.due(tenant_id, limit=limit)


def acknowledge(resumption: Resumption) -> bool:
    """Mark an ending as heard, beside the caller's own rows; False where it was already."""
    access.enter(resumption.tenant_id)
    return resumptions.acknowledge(resumption)


@dataclass(slots=True)
class Sending:
    """A claim in hand; `settle` records the answer. Left without it, the effect is unknown."""

    claim: Claim
    settled: Settled | None = None
    untold: SendOutcome | None = None

    def settle(self, outcome: SendOutcome) -> Settled:
        """Record what the provider answered; see `dispatch.settle`.

        A database that went away is waited for, some seconds: what was heard once is not heard
        again. A confirmation whose answer left no SHA-256 is no receipt, and leaves it unknown.
        """
        proven = _with_proof(outcome)
        try:
            self.settled = _over_a_loss(lambda: dispatch.settle(self.claim, proven))
        except _LOST:
            self.untold = proven
            raise
        return self.settled

    def give_up(self, cause: Cause) -> Settled:
        """Leave the effect unknown on purpose, because of `cause`.

        An answer that the database could not be told is kept, as evidence.
        """
        self.settled = _over_a_loss(lambda: dispatch.settle(self.claim, self._given_up(cause)))
        return self.settled

    def _given_up(self, cause: Cause) -> Unclear:
        match self.untold:
            case None:
                answer = Answer(method="", path="", phase=Phase.SENT, duration_ms=0)
                return Unclear(cause, answer)
            case Confirmed(found=found, answer=answer):
                return Unclear(cause, answer, found=found)
            case Unclear():
                return replace(self.untold, cause=cause)
        return Unclear(cause, self.untold.answer)


@contextmanager
def dispatching(tenant_id: UUID, effect_id: UUID, *, worker: str) -> Iterator[Sending | None]:
    """Claim the effect and yield the claim to send under, or None where there is nothing to send.

    Leaving the block by an exception after the dispatch mark, or without settling, leaves the
    effect unknown, never rejected. Raises InsideTransaction inside an open transaction.
    """
    held = dispatch.claim(tenant_id, effect_id, worker=worker)
    if held is None:
        yield None
        return
    sending = Sending(held)
    try:
        yield sending
    finally:
        if sending.settled is None:
            sending.give_up(Cause.INTERRUPTED)


def _with_proof(outcome: SendOutcome) -> SendOutcome:
    if not isinstance(outcome, Confirmed) or _SHA256.fullmatch(outcome.answer.body_digest or ""):
        return outcome
    return Unclear(Cause.UNREADABLE_ANSWER, outcome.answer, found=outcome.found)


def _over_a_loss(step: Callable[[], _T]) -> _T:
    """Run `step`, and again where the connection was lost, up to three times.

    Only for a step that is conditional on its fence: it may have been committed before the loss,
    and its repetition is then one more entry and moves nothing.
    """
    for wait_seconds in _WAITS_SECONDS:
        try:
            return _again(step)
        except _LOST:
            if connection.in_atomic_block or connection.connection is not None:
                raise  # the server answers, so waiting would change nothing
        time.sleep(wait_seconds)
    return _again(step)


def _again(step: Callable[[], _T]) -> _T:
    """Run `step`, and again after a deadlock or serialization failure; steps are conditional."""
    for left in reversed(range(_TRIES)):
        try:
            return step()
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            if connection.in_atomic_block or not left:
                raise
    raise AssertionError("unreachable")
