"""Escalating names who must act; the effect stays unknown and frozen."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from ledger import access, clock, resolutions
from ledger.access import Acting
from ledger.errors import BadForm, NotPermitted, StaleState
from ledger.ids import new_id
from ledger.resolutions import Handover
from ledger.rules.decisions import Decision
from ledger.rules.states import State
from tests.builders import Home, confirmed, entries, one_row, open_row, person, unknown
from tests.ledger.deciding import act, found
from tests.logins import login


def handover(**changes: Any) -> Handover:
    """A handover to a team, looked at in an hour."""
    given = {
        "command_id": new_id(), "owner": "Payments", "reason_code": "evidence_unclear",
        "words": "Ask the provider by phone", "next_check_at": clock.now() + timedelta(hours=1),
    }  # fmt: skip
    return Handover(**{**given, **changes})


def escalate(at: Home, effect_id: UUID, to: Handover, *, by: Acting | None) -> Any:
    """The handover, by a person or by schedule."""
    with login("web" if by else "worker"), transaction.atomic():
        access.enter(at.tenant_id)
        return resolutions.escalate(at.tenant_id, effect_id, to, by=by)


@pytest.mark.parametrize("by_person", [True, False])
def test_an_escalated_effect_stays_unknown_and_frozen_with_a_named_owner(
    at: Home, by_person: bool
) -> None:
    effect_id = unknown(at)
    escalate(at, effect_id, handover(), by=at.operator if by_person else None)
    waiting = open_row(effect_id)
    assert (waiting["state"], waiting["escalated_to"]) == (State.UNKNOWN, "Payments")
    actor = ("operator", "ascertain_web") if by_person else ("reconciler", "ascertain_worker")
    assert entries(effect_id)[-1] == (4, "escalated", 3, 3, *actor)
    kept = one_row("select person_id from escalation where effect_id = %s", effect_id)
    assert kept == {"person_id": at.operator.person_id if by_person else None}


def test_the_same_escalation_again_is_answered_with_the_first(at: Home) -> None:
    effect_id, to = unknown(at), handover()
    first = escalate(at, effect_id, to, by=at.operator)
    again = escalate(at, effect_id, to, by=at.operator)
    assert (first.replayed, again.replayed) == (False, True)
    assert first.escalation_id == again.escalation_id
    assert len(entries(effect_id)) == 4


def test_an_escalation_needs_a_right_an_owner_a_reason_words_and_a_time(at: Home) -> None:
    effect_id = unknown(at)
    with pytest.raises(NotPermitted):
        escalate(at, effect_id, handover(), by=person(at.tenant_id, ["view"]))
    for changes in ({"owner": " "}, {"reason_code": ""}, {"words": "short"},
                    {"next_check_at": clock.now()},
                    {"next_check_at": clock.now() + timedelta(days=8)}):  # fmt: skip
        with pytest.raises(BadForm):
            escalate(at, effect_id, handover(**changes), by=at.operator)
    assert not open_row(effect_id)["escalated_to"]


def test_a_settled_effect_is_not_escalated(at: Home) -> None:
    with pytest.raises(StaleState):
        escalate(at, confirmed(at), handover(), by=at.operator)


def test_a_decision_ends_an_escalation(at: Home) -> None:
    effect_id, _ = found(at)
    escalate(at, effect_id, handover(), by=at.operator)
    act(at, effect_id, Decision.REDISPATCH)
    assert open_row(effect_id)["escalated_to"] is None
