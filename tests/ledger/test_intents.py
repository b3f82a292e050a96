"""An intent is recorded once, whoever asks; the freeze refuses a second one for its object."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from ledger import access, clock, dispatch
from ledger.errors import (
    BadIntent,
    DigestMismatch,
    Frozen,
    NotFound,
)
from ledger.ids import new_id
from ledger.models import Tenant
from ledger.rules.states import Cause, State
from tests.builders import (
    Home,
    confirmed,
    dispatched,
    effect_row,
    entries,
    one_row,
    open_row,
    prepare,
    prepared,
    taken_in,
    unknown,
    yes,
)
from tests.crowd import all_at_once
from tests.ledger.sending import claim, settle
from tests.logins import login

# --- prepare ---


def test_an_intent_is_recorded_with_its_first_entry_and_request(at: Home) -> None:
    made = prepare(at.intent())
    assert (made.state, made.created, made.receipt, made.neighbour) == (
        State.PREPARED, True, None, None)  # fmt: skip
    assert entries(made.effect_id) == [(1, "prepared", 0, 1, "workflow", "ascertain_workflow")]
    stored = effect_row(made.effect_id)
    body = one_row(
        "select body, sha256(body) as d from payload where effect_id = %s", made.effect_id
    )
    assert body["d"] == stored["request_digest"]
    assert open_row(made.effect_id)["state"] == State.PREPARED


def test_fifty_callers_at_once_make_one_effect_and_get_one_answer(at: Home) -> None:
    wanted = at.intent()

    def call(_: int) -> dispatch.Prepared:
        access.enter(at.tenant_id)
        return dispatch.prepare(wanted)

    answers = all_at_once(50, call, as_login="workflow")
    assert not answers.errors
    assert sorted(made.created for made in answers.values) == [False] * 49 + [True]
    assert len({made.effect_id for made in answers.values}) == 1
    counted = one_row("select count(*) from effect where tenant_id = %s", at.tenant_id)
    assert counted == {"count": 1}


def test_the_same_intent_again_is_answered_with_its_receipt(at: Home) -> None:
    wanted = at.intent()
    first = prepare(wanted)
    held = claim(at, first.effect_id)
    outcome = yes(held)
    settle(held, outcome)
    again = prepare(wanted)
    assert again == dispatch.Prepared(
        first.effect_id, State.CONFIRMED, created=False, receipt=outcome.found.object_id
    )


CHANGED = {
    "request": {"to": "mallory"},
    "amount_minor": 4_201,
    "account": "second",
    "operation": "pay_freely",
}


@pytest.mark.parametrize("name", CHANGED)
def test_the_same_key_for_something_else_is_refused_and_changes_nothing(
    at: Home, name: str
) -> None:
    wanted = at.intent()
    made = prepare(wanted)
    before = effect_row(made.effect_id)
    with pytest.raises(DigestMismatch) as refusal:
        prepare(replace(wanted, **{name: CHANGED[name]}))
    assert refusal.value.details["effect_id"] == made.effect_id
    assert name in " ".join(refusal.value.details["differs"])
    assert effect_row(made.effect_id) == before


def test_the_environment_is_the_tenants(at: Home) -> None:
    wanted = at.intent()
    made = prepare(wanted)
    assert effect_row(made.effect_id)["environment"] == "test"
    assert open_row(made.effect_id)["environment"] == "test"
    assert prepare(replace(wanted, environment="test")).effect_id == made.effect_id


def test_a_tenant_that_went_live_answers_to_its_old_keys(at: Home) -> None:
    wanted = at.intent()
    made = prepare(wanted)
    Tenant.objects.filter(id=at.tenant_id).update(environment="live")
    assert prepare(wanted).effect_id == made.effect_id
    assert effect_row(prepare(at.intent()).effect_id)["environment"] == "live"


def mismatches(at: Home) -> int:
    """How many refusals of this kind the tenant's log holds."""
    return one_row(
        "select count(*) from record where tenant_id = %s and kind = 'digest_mismatch'",
        at.tenant_id,
    )["count"]


def test_a_mismatch_is_on_record_although_the_caller_rolls_back(at: Home) -> None:
    wanted = at.intent()
    prepare(wanted)
    with login("workflow"), pytest.raises(DigestMismatch), transaction.atomic():
        access.enter(at.tenant_id)
        dispatch.prepare(replace(wanted, request={"to": "mallory"}))
    assert mismatches(at) == 1


def test_a_mismatch_outside_a_transaction_is_on_record_once(at: Home) -> None:
    wanted = at.intent()
    prepare(wanted)
    with pytest.raises(DigestMismatch):
        prepare(replace(wanted, request={"to": "mallory"}))
    assert mismatches(at) == 1


def test_an_intent_lives_and_dies_with_the_callers_transaction(at: Home) -> None:
    wanted = at.intent()
    with login("workflow"), transaction.atomic():
        access.enter(at.tenant_id)
        dispatch.prepare(wanted)
        transaction.set_rollback(True)
    assert not one_row("select 1 from effect where tenant_id = %s", at.tenant_id)


@pytest.mark.parametrize(
    "changes",
    [
        {"amount_minor": -1},
        {"amount_minor": 10**15 + 1},
        {"amount_minor": None},
        {"amount_minor": True},
        {"currency": "EURO"},
        {"currency": "XXX"},
        {"intent_key": ""},
        {"intent_key": "k" * 201},
        {"intent_key": str(uuid4())},
        {"request": {"amount": 1.5}},
        {"operation": "never"},
        {"operation": "note", "amount_minor": 1},
        {"object_type": None},
        {"object_ref": None},
        {"environment": "live"},
    ],
    ids=str,
)
def test_an_intent_that_cannot_be_recorded_is_refused_in_words(
    at: Home, changes: dict[str, Any]
) -> None:
    with pytest.raises(BadIntent) as refusal:
        prepare(at.intent(**changes))
    assert len(refusal.value.message) > 10
    assert not one_row("select 1 from effect where tenant_id = %s", at.tenant_id)


def test_an_intent_in_a_tenant_that_is_none_is_refused(at: Home) -> None:
    with pytest.raises(NotFound):
        prepare(at.intent(tenant_id=new_id()))


# --- freeze ---


def second(at: Home, effect_id: Any, **changes: Any) -> dispatch.Prepared:
    """Another key for the same object and operation."""
    first = effect_row(effect_id)
    same = {"object_ref": first["object_ref"], "operation": first["operation"]}
    return prepare(at.intent(**{**same, **changes}))


def test_another_key_for_an_unproven_object_is_refused_with_its_case(at: Home) -> None:
    effect_id = unknown(at)
    with pytest.raises(Frozen) as refusal:
        second(at, effect_id)
    assert refusal.value.details["effect_id"] == effect_id


def test_while_it_is_on_its_way_another_key_is_refused_too(at: Home) -> None:
    held = dispatched(at)
    with pytest.raises(Frozen):
        second(at, held.effect_id)


def test_once_it_is_settled_the_object_is_free(at: Home) -> None:
    assert second(at, confirmed(at)).created


def test_another_object_another_operation_and_another_tenant_are_free(at: Home) -> None:
    from tests.builders import home

    effect_id = unknown(at)
    assert second(at, effect_id, object_ref="n-other").created
    assert second(at, effect_id, operation="pay_freely").created
    elsewhere = home()
    ref = effect_row(effect_id)["object_ref"]
    assert prepare(elsewhere.intent(object_ref=ref)).created


def test_a_real_second_instalment_says_so_and_is_recorded(at: Home) -> None:
    made = second(at, unknown(at), distinct_because="second instalment")
    assert made.created
    stored = effect_row(made.effect_id)
    assert (stored["distinct_because"], stored["exclusive"]) == ("second instalment", False)


def test_where_the_contract_warns_the_neighbour_is_named(at: Home) -> None:
    effect_id = unknown(at, operation="pay_warned")
    assert second(at, effect_id).neighbour == effect_id


def test_where_the_contract_is_silent_nothing_is_said(at: Home) -> None:
    made = second(at, unknown(at, operation="pay_freely"))
    assert (made.created, made.neighbour) == (True, None)


def test_two_prepared_for_one_object_cannot_both_be_sent(at: Home) -> None:
    first, other = prepared(at, object_ref="n-1"), prepared(at, object_ref="n-1")
    assert claim(at, first)
    with pytest.raises(Frozen):
        claim(at, other)
    assert effect_row(other)["state"] == State.PREPARED


def test_a_row_taken_in_freezes_nothing_by_itself(at: Home) -> None:
    assert effect_row(taken_in(at))["exclusive"] is False


# --- intake ---


def test_a_stuck_row_is_unknown_with_its_line_as_the_first_entry(at: Home) -> None:
    sent_at = clock.now() - timedelta(days=3)
    effect_id = taken_in(at, request={"line": "7;alice"}, first_attempt_at=sent_at)
    stored = effect_row(effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.TAKEN_IN.value)
    assert (stored["first_attempt_at"], stored["key_until"]) == (sent_at, None)
    assert entries(effect_id) == [(1, "taken_in", 0, 3, "intake", "ascertain_worker")]
    assert open_row(effect_id)["since"] == sent_at


def test_a_stuck_row_is_never_sent_from_here(at: Home) -> None:
    effect_id = taken_in(at)
    assert claim(at, effect_id) is None


def test_a_stuck_row_is_taken_in_once(at: Home) -> None:
    line = at.intent(first_attempt_at=clock.now())
    with login("worker"):
        first, again = dispatch.take_in(line), dispatch.take_in(line)
    assert (first.created, again.created) == (True, False)
    assert first.effect_id == again.effect_id
