"""Escalating names who must act; the effect stays unknown and frozen."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from ledger import access, clock, resolutions
from ledger.access import Acting
from ledger.errors import BadForm, NotPermitted, NotPossible, StaleState
from ledger.ids import new_id
from ledger.resolutions import Handover
from ledger.rules.decisions import Decision
from ledger.rules.states import State
from tests.builders import (
    OPERATOR,
    Home,
    confirmed,
    effect_row,
    entries,
    look,
    one_row,
    open_row,
    person,
    unknown,
)
from tests.crowd import all_at_once
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
    """The handover, by schedule or by a person who saw the newest version if none is named."""
    if by and to.version is None:
        to = replace(to, version=effect_row(effect_id)["version"])
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
    assert (first.escalation_id, first.no) == (again.escalation_id, again.no)
    assert first.no == entries(effect_id)[-1][0]
    assert len(entries(effect_id)) == 4


def test_an_escalation_needs_a_right_an_owner_a_reason_words_and_a_time(at: Home) -> None:
    effect_id = unknown(at)
    with pytest.raises(NotPermitted):
        escalate(at, effect_id, handover(), by=person(at.tenant_id, ["view"]))
    for changes in ({"owner": " "}, {"reason_code": ""}, {"reason_code": "bored"},
                    {"words": "short"},
                    {"next_check_at": clock.now()},
                    {"next_check_at": clock.now() + timedelta(days=8)}):  # fmt: skip
        with pytest.raises(BadForm):
            escalate(at, effect_id, handover(**changes), by=at.operator)
    assert not open_row(effect_id)["escalated_to"]


@pytest.mark.parametrize(("by_person", "refusal"), [(True, NotPossible), (False, StaleState)])
def test_a_settled_effect_is_not_escalated(
    at: Home, by_person: bool, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal, match="Already settled"):
        escalate(at, confirmed(at), handover(), by=at.operator if by_person else None)


@pytest.mark.parametrize(("by_person", "refusal"), [(True, NotPossible), (False, StaleState)])
def test_an_escalation_is_not_written_over(
    at: Home, by_person: bool, refusal: type[Exception]
) -> None:
    effect_id = unknown(at)
    escalate(at, effect_id, handover(), by=at.operator)
    with pytest.raises(refusal, match="Already escalated to Payments"):
        escalate(at, effect_id, handover(owner="Us"), by=at.operator if by_person else None)
    assert open_row(effect_id)["escalated_to"] == "Payments"
    assert len(entries(effect_id)) == 4


def test_of_people_who_name_an_owner_at_once_one_does_and_the_others_are_told(at: Home) -> None:
    effect_id = unknown(at)
    people = [person(at.tenant_id, OPERATOR) for _ in range(4)]

    def name(number: int) -> Any:
        with transaction.atomic():
            access.enter(at.tenant_id)
            to = handover(owner=f"Team {number}", version=3)
            return resolutions.escalate(at.tenant_id, effect_id, to, by=people[number])

    answers = all_at_once(4, name, as_login="web")
    assert len(answers.values) == 1
    assert {type(error) for error in answers.errors} <= {NotPossible, StaleState}
    assert len(entries(effect_id)) == 4


def test_an_escalation_on_an_older_reading_is_refused(at: Home) -> None:
    effect_id = unknown(at)
    look(at, effect_id)
    with pytest.raises(StaleState):
        escalate(at, effect_id, handover(version=3), by=at.operator)
    assert not open_row(effect_id)["escalated_to"]


def test_a_command_stands_for_one_effect_one_person_and_one_action(at: Home) -> None:
    first, other, to = unknown(at), unknown(at), handover()
    escalate(at, first, to, by=at.operator)
    settled, _ = found(at)
    done = act(at, settled, Decision.REDISPATCH, command_id=new_id())
    used = one_row(
        "select command_id from resolution where resolution_id = %s", done.resolution_id
    )["command_id"]
    tries = (
        (other, to, at.operator),
        (first, to, person(at.tenant_id, OPERATOR)),
        (other, handover(command_id=used), at.operator),
    )
    for effect_id, again, by in tries:
        with pytest.raises(StaleState, match="sent before for something else"):
            escalate(at, effect_id, again, by=by)
    assert (len(entries(first)), len(entries(other))) == (4, 3)


def test_a_known_command_is_not_answered_to_who_may_only_view(at: Home) -> None:
    effect_id, to = unknown(at), handover()
    escalate(at, effect_id, to, by=at.operator)
    with pytest.raises(NotPermitted):
        escalate(at, effect_id, to, by=person(at.tenant_id, ["view"]))


def test_a_decision_ends_an_escalation(at: Home) -> None:
    effect_id, _ = found(at)
    escalate(at, effect_id, handover(), by=at.operator)
    act(at, effect_id, Decision.REDISPATCH)
    assert open_row(effect_id)["escalated_to"] is None
