"""The public client for workflows and workers: everything an integration may import from here.

A workflow process connects as the login `workflow`: it prepares in its own transaction, hears
endings with `due` and acknowledges them. A worker process connects as `worker` and sends inside
`dispatching`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import psycopg
from django.db import connection

from ledger import access, dispatch, resumptions
from ledger.dispatch import Claim, Prepared, Settled
from ledger.errors import LedgerError
from ledger.intents import Intent
from ledger.resumptions import Resumption
from ledger.rules.contract import SendOutcome
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

    def settle(self, outcome: SendOutcome) -> Settled:
        """Record what the provider answered; see `dispatch.settle`."""
        self.settled = _again(lambda: dispatch.settle(self.claim, outcome))
        return self.settled

    def give_up(self, cause: Cause) -> Settled:
        """Leave the effect unknown on purpose, because of `cause`."""
        self.settled = _again(lambda: dispatch.give_up(self.claim, cause))
        return self.settled


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


def _again(step: Callable[[], _T]) -> _T:
    """Run `step`, and again after a deadlock or serialization failure; steps are conditional."""
    for left in reversed(range(_TRIES)):
        try:
            return step()
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            if connection.in_atomic_block or not left:
                raise
    raise AssertionError("unreachable")
