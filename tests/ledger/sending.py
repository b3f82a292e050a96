"""A worker's steps in a test: claim, settle, and what they left on record."""

from typing import Any

from ledger import dispatch
from tests.builders import Home, entries
from tests.logins import login


def claim(at: Home, effect_id: Any) -> dispatch.Claim | None:
    """A worker's claim."""
    with login("worker"):
        return dispatch.claim(at.tenant_id, effect_id, worker="w1")


def settle(held: dispatch.Claim, outcome: Any) -> dispatch.Settled:
    """A worker's settlement."""
    with login("worker"):
        return dispatch.settle(held, outcome)


def kinds(effect_id: Any) -> list[str]:
    """The kinds of the effect's entries in order."""
    return [entry[1] for entry in entries(effect_id)]
