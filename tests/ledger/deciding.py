"""Deciding a case in a test as an operator does in the browser: the form as the page offers it."""

from typing import Any
from uuid import UUID

from django.db import transaction

from ledger import access, clock, facts, resolutions
from ledger.access import Acting
from ledger.ids import new_id
from ledger.resolutions import Proposal, Resolved
from ledger.rules.decisions import Decision, option
from tests.builders import Home, Looked, look, one_row, unknown
from tests.logins import login

SAID = "Nothing was found there, checked by hand"


def form(at: Home, effect_id: UUID, action: Decision, **changes: Any) -> Proposal:
    """The form of `action` filled in as the page offers it."""
    case = facts.case(at.tenant_id, effect_id, now=clock.now())
    offered = option(action, case.facts)
    given = {
        "command_id": new_id(),
        "action": action,
        "version": case.effect.version,
        "evidence": offered.evidence,
        "reason_code": offered.reason_codes[0].code if offered.reason_codes else "",
        "words": SAID,
        "receipt_id": offered.object_id,
        "typed": {name.value: "42.00 EUR" for name in offered.typed},
    }
    return Proposal(**{**given, **changes})


def decide(at: Home, effect_id: UUID, proposal: Proposal, *, by: Acting | None = None) -> Resolved:
    """The proposal, made in a web request."""
    with login("web"), transaction.atomic():
        access.enter(at.tenant_id)
        return resolutions.propose(at.tenant_id, effect_id, proposal, by=by or at.operator)


def act(at: Home, effect_id: UUID, action: Decision, **changes: Any) -> Resolved:
    """Decide as the page offers it."""
    return decide(at, effect_id, form(at, effect_id, action, **changes))


def found(at: Home, *objects: dict[str, Any], **changes: Any) -> tuple[UUID, Looked]:
    """An unknown effect that was looked up."""
    effect_id = unknown(at, **changes)
    return effect_id, look(at, effect_id, *objects)


def recorded(at: Home) -> tuple[int, int]:
    """How many resolutions and applications the tenant has."""
    return tuple(one_row(
        "select (select count(*) from resolution where tenant_id = t) as r,"
        " (select count(*) from application where tenant_id = t) as a"
        " from (select %s::uuid as t) x",
        at.tenant_id).values())  # fmt: skip
