"""A form's token stands for one command, and a refusal names the rule that says so."""

from dataclasses import replace

import pytest

from ledger.errors import NotPermitted, SecondPersonNeeded, StaleState
from ledger.rules.contract import Route
from ledger.rules.decisions import Decision
from tests.builders import OPERATOR, Home, look, person, taken_in, unknown
from tests.ledger.deciding import act, decide, form, found, recorded


def test_a_command_stands_for_one_effect_one_person_and_one_action(at: Home) -> None:
    effect_id, _ = found(at, {})
    other, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)
    decide(at, effect_id, seen)
    tries = (
        (other, replace(form(at, other, Decision.ACCEPT), command_id=seen.command_id), at.operator),
        (effect_id, seen, person(at.tenant_id, OPERATOR)),
        (effect_id, replace(seen, action=Decision.REJECT), at.operator),
    )
    for where, again, by in tries:
        with pytest.raises(StaleState, match="sent before for something else"):
            decide(at, where, again, by=by)
    assert recorded(at) == (1, 1)


def test_a_known_command_is_not_answered_to_who_may_only_view(at: Home) -> None:
    effect_id, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)
    decide(at, effect_id, seen)
    with pytest.raises(NotPermitted):
        decide(at, effect_id, seen, by=person(at.tenant_id, ["view"]))


def test_who_cannot_decide_alone_is_told_the_rule_that_says_so(at: Home) -> None:
    claimed, alike = taken_in(at), unknown(at, operation="note")
    look(at, claimed)
    look(at, alike, {"reference": None}, route=Route.BY_ATTRIBUTES)
    for effect_id, action, why in (
        (alike, Decision.ACCEPT, "It only fits what was sent"),
        (claimed, Decision.REJECT, "Its key or request id is what the source file claims"),
    ):
        with pytest.raises(SecondPersonNeeded, match=why):
            act(at, effect_id, action)
