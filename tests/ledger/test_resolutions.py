"""A person's decision: alone below the tier, on evidence that carries it, once, or not at all."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from ledger import access, dispatch, resolutions
from ledger.errors import (
    BadForm,
    EvidenceDoesNotCarry,
    LedgerError,
    NotFound,
    NotPermitted,
    NotPossible,
    ReceiptTaken,
    SecondPersonNeeded,
    StaleState,
)
from ledger.ids import new_id
from ledger.resolutions import Proposal, Resolved
from ledger.rules.contract import Declined, Standing
from ledger.rules.decisions import Decision
from ledger.rules.states import Cause, State
from tests.builders import (
    SECOND_FROM,
    Home,
    answer,
    confirmed,
    dispatched,
    effect_row,
    entries,
    home,
    look,
    one_row,
    open_row,
    person,
    policy,
    prepared,
    taken_in,
    unknown,
    yes,
)
from tests.crowd import all_at_once
from tests.ledger.deciding import SAID, act, decide, form, found, recorded
from tests.logins import login

# --- what a decision does ---


def test_accepting_confirms_with_the_found_object_as_receipt(at: Home) -> None:
    effect_id, looked = found(at, {})
    done = act(at, effect_id, Decision.ACCEPT)
    stored = effect_row(effect_id)
    assert (done.state, done.no, done.replayed) == (State.CONFIRMED, looked.no + 1, False)
    assert (stored["state"], stored["provider_result_id"]) == (State.CONFIRMED, looked.object_id)
    proof = one_row(
        "select proof from entry where effect_id = %s and no = %s", effect_id, looked.no
    )
    assert stored["response_digest"] == proof["proof"]
    assert entries(effect_id)[-1] == (done.no, "decision", 3, 4, "operator", "ascertain_web")
    assert not open_row(effect_id)


def test_a_decision_keeps_person_reason_evidence_version_and_words(at: Home) -> None:
    effect_id, looked = found(at, {})
    done = act(at, effect_id, Decision.ACCEPT)
    kept = one_row("select * from resolution where resolution_id = %s", done.resolution_id)
    assert (kept["person_id"], kept["account_id"]) == (
        at.operator.person_id, at.operator.account_id)  # fmt: skip
    assert (kept["evidence"], kept["version"], kept["words"]) == ([looked.no], looked.no, SAID)
    assert kept["reason_code"] == "found_by_key"
    assert (kept["people_required"], kept["policy_version"]) == (1, 1)
    assert kept["expires_at"] - kept["proposed_at"] == timedelta(hours=24)


def test_rejecting_on_proven_absence_says_so(at: Home) -> None:
    effect_id, _ = found(at)
    done = act(at, effect_id, Decision.REJECT)
    stored = effect_row(effect_id)
    assert done.state is State.REJECTED
    assert (stored["reject_kind"], stored["provider_result_id"]) == ("absence_proven", None)


def test_rejecting_on_a_failed_object_says_that_the_provider_declined(at: Home) -> None:
    effect_id, _ = found(at, {"standing": Standing.FAILED_NO_EFFECT})
    act(at, effect_id, Decision.REJECT)
    assert effect_row(effect_id)["reject_kind"] == "provider_declined"


def late_refusal(at: Home) -> UUID:
    """An effect whose lease was lost before its listed refusal arrived."""
    held = dispatched(at, operation="pay_lost")
    with login("worker"):
        dispatch.reap(limit=10_000)
        dispatch.settle(held, Declined("card_declined", answer(status=402)))
    return held.effect_id


def test_rejecting_on_a_late_refusal_needs_no_lookup(at: Home) -> None:
    effect_id = late_refusal(at)
    act(at, effect_id, Decision.REJECT)
    assert effect_row(effect_id)["reject_kind"] == "provider_declined"


def test_a_late_refusal_still_carries_after_a_look_that_found_nothing(at: Home) -> None:
    effect_id = late_refusal(at)
    look(at, effect_id)
    act(at, effect_id, Decision.REJECT)
    assert effect_row(effect_id)["state"] == State.REJECTED


def test_a_late_refusal_carries_nothing_once_the_object_was_found(at: Home) -> None:
    effect_id = late_refusal(at)
    look(at, effect_id, {})
    with pytest.raises(LedgerError):
        act(at, effect_id, Decision.REJECT)
    assert effect_row(effect_id)["state"] == State.UNKNOWN


def test_a_late_confirmation_can_be_accepted(at: Home) -> None:
    held = dispatched(at, operation="pay_lost")
    outcome = yes(held)
    with login("worker"):
        dispatch.reap(limit=10_000)
        dispatch.settle(held, outcome)
    act(at, held.effect_id, Decision.ACCEPT)
    assert effect_row(held.effect_id)["provider_result_id"] == outcome.found.object_id


def test_one_retry_keeps_the_key_and_lapses_before_the_window(at: Home) -> None:
    effect_id, _ = found(at)
    before = effect_row(effect_id)
    assert act(at, effect_id, Decision.REDISPATCH).state is State.PREPARED
    stored = effect_row(effect_id)
    assert stored["provider_key"] == before["provider_key"]
    assert stored["dispatch_until"] == before["key_until"] - timedelta(seconds=8640)
    with login("worker"):
        held = dispatch.claim(at.tenant_id, effect_id, worker="w2")
    assert held is not None
    assert held.view.attempts == 2
    assert held.fence > before["fence"]
    assert effect_row(effect_id)["key_until"] == before["key_until"]


def test_what_was_absent_before_a_retry_proves_nothing_after_it(at: Home) -> None:
    effect_id, looked = found(at)
    act(at, effect_id, Decision.REDISPATCH)
    with login("worker"):
        held = dispatch.claim(at.tenant_id, effect_id, worker="w2")
        dispatch.give_up(held, Cause.TIMEOUT)
    version = effect_row(effect_id)["version"]
    stale = Proposal(
        command_id=new_id(), action=Decision.REJECT, version=version, evidence=(looked.no,),
        reason_code="absence_proven", words=SAID)  # fmt: skip
    with pytest.raises((NotPossible, EvidenceDoesNotCarry)):
        decide(at, effect_id, stale)


# --- what it must rest on ---


def test_nothing_is_accepted_without_a_lookup(at: Home) -> None:
    effect_id = unknown(at)
    for action in (Decision.ACCEPT, Decision.REJECT, Decision.REDISPATCH):
        with pytest.raises(NotPossible) as refusal:
            act(at, effect_id, action)
        assert refusal.value.message
    assert recorded(at) == (0, 0)


def test_before_the_settle_time_absence_offers_neither_reject_nor_retry(at: Home) -> None:
    effect_id, _ = found(at, operation="pay_slowly")
    for action in (Decision.REJECT, Decision.REDISPATCH):
        with pytest.raises(NotPossible):
            act(at, effect_id, action)


def test_outside_the_key_window_a_retry_is_refused(at: Home) -> None:
    for operation in ("pay_brief_key", "pay_unkeyed"):
        effect_id, _ = found(at, operation=operation)
        with pytest.raises(NotPossible):
            act(at, effect_id, Decision.REDISPATCH)
        assert act(at, effect_id, Decision.REJECT).state is State.REJECTED


def test_a_row_taken_in_is_never_sent_again_from_here(at: Home) -> None:
    effect_id = taken_in(at)
    look(at, effect_id)
    with pytest.raises(NotPossible):
        act(at, effect_id, Decision.REDISPATCH)


def test_a_row_taken_in_is_accepted_like_any_other(at: Home) -> None:
    effect_id = taken_in(at)
    look(at, effect_id, {})
    assert act(at, effect_id, Decision.ACCEPT).state is State.CONFIRMED


@pytest.mark.parametrize("state", ["prepared", "dispatched", "confirmed"])
def test_only_an_unknown_effect_is_decided(at: Home, state: str) -> None:
    effect_id = {
        "prepared": lambda: prepared(at),
        "dispatched": lambda: dispatched(at).effect_id,
        "confirmed": lambda: confirmed(at),
    }[state]()
    for action in (Decision.ACCEPT, Decision.REJECT, Decision.REDISPATCH):
        with pytest.raises(NotPossible):
            act(at, effect_id, action)


def test_a_difference_and_several_objects_take_a_second_person(at: Home) -> None:
    wrong, _ = found(at, {"amount_minor": 4_100})
    two, _ = found(at, {}, {})
    with pytest.raises(SecondPersonNeeded):
        act(at, wrong, Decision.ACCEPT_WITH_DIFFERENCE)
    with pytest.raises(SecondPersonNeeded):
        act(at, two, Decision.ACCEPT_ONE_OF_SEVERAL)
    assert recorded(at) == (0, 0)


def test_what_the_form_lacks_is_named_and_nothing_is_recorded(at: Home) -> None:
    effect_id, _ = found(at)
    for changes in ({"reason_code": "because"}, {"words": "no"}, {"evidence": ()},
                    {"words": "x" * 2001}, {"evidence": (1,)}):  # fmt: skip
        with pytest.raises(BadForm):
            act(at, effect_id, Decision.REJECT, **changes)
    assert recorded(at) == (0, 0)


def test_a_retry_asks_for_the_amount_to_be_typed(at: Home) -> None:
    effect_id, _ = found(at)
    with pytest.raises(BadForm):
        act(at, effect_id, Decision.REDISPATCH, typed={"intent_amount": "42.01 EUR"})
    assert act(at, effect_id, Decision.REDISPATCH).state is State.PREPARED


def test_the_receipt_of_another_effect_is_refused(at: Home) -> None:
    effect_id, looked = found(at, {})
    confirmed(at, found={"object_id": looked.object_id})
    with pytest.raises(ReceiptTaken):
        act(at, effect_id, Decision.ACCEPT)
    assert effect_row(effect_id)["state"] == State.UNKNOWN
    assert recorded(at) == (0, 0)


def test_a_version_that_moved_is_refused_and_nothing_is_recorded(at: Home) -> None:
    effect_id, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)
    look(at, effect_id, {"amount_minor": 1})
    with pytest.raises(StaleState) as refusal:
        decide(at, effect_id, seen)
    assert refusal.value.details["seen"] == seen.version
    assert recorded(at) == (0, 0)


# --- who may ---


def test_who_may_not_propose_may_not_decide(at: Home) -> None:
    effect_id, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)
    elsewhere = home().operator
    for stranger in (person(at.tenant_id, ["view", "look_up", "approve"]), elsewhere):
        with pytest.raises(NotPermitted):
            decide(at, effect_id, seen, by=stranger)
    assert recorded(at) == (0, 0)


def test_another_tenants_effect_is_not_there(at: Home) -> None:
    other = home()
    effect_id, _ = found(other, {})
    seen = form(other, effect_id, Decision.ACCEPT)
    with pytest.raises(NotFound):
        decide(at, effect_id, seen)


AT_THE_TIER = [
    (SECOND_FROM - 1, "EUR", True),
    (SECOND_FROM, "EUR", False),
    (SECOND_FROM + 1, "EUR", False),
    (2_500_000, "EUR", False),
    (1, "SEK", False),  # a currency that the policy does not know
    (0, "EUR", True),
]


@pytest.mark.parametrize(("amount", "currency", "alone"), AT_THE_TIER)
@pytest.mark.parametrize("objects", [[{}], []], ids=["accept", "reject"])
def test_one_person_decides_below_the_tier_and_not_at_it(
    at: Home, amount: int, currency: str, alone: bool, objects: list[dict[str, Any]]
) -> None:
    effect_id, _ = found(at, *objects, amount_minor=amount, currency=currency)
    action = Decision.ACCEPT if objects else Decision.REJECT
    if alone:
        assert act(at, effect_id, action).state in (State.CONFIRMED, State.REJECTED)
        return
    with pytest.raises(SecondPersonNeeded):
        act(at, effect_id, action)
    assert (effect_row(effect_id)["state"], recorded(at)) == (State.UNKNOWN, (0, 0))


def test_a_message_is_decided_by_one_person(at: Home) -> None:
    effect_id, _ = found(at, {}, operation="note")
    assert act(at, effect_id, Decision.ACCEPT).state is State.CONFIRMED


def test_a_new_policy_holds_from_its_next_decision_on(at: Home) -> None:
    effect_id, _ = found(at, {})
    policy(at.tenant_id, {"EUR": (4_200, None)})
    with pytest.raises(SecondPersonNeeded):
        act(at, effect_id, Decision.ACCEPT)
    policy(at.tenant_id, {"EUR": (4_201, None)})
    assert act(at, effect_id, Decision.ACCEPT).state is State.CONFIRMED


# --- once ---


def test_the_same_command_again_is_answered_with_its_first_result(at: Home) -> None:
    effect_id, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)
    first, again = decide(at, effect_id, seen), decide(at, effect_id, seen)
    assert again == replace(first, replayed=True)
    assert recorded(at) == (1, 1)


def test_twenty_submits_at_once_are_one_decision_with_one_answer(at: Home) -> None:
    effect_id, _ = found(at, {})
    seen = form(at, effect_id, Decision.ACCEPT)

    def submit(_: int) -> Resolved:
        with transaction.atomic():
            access.enter(at.tenant_id)
            return resolutions.propose(at.tenant_id, effect_id, seen, by=at.operator)

    answers = all_at_once(20, submit, as_login="web")
    assert not answers.errors
    assert len({replace(done, replayed=False) for done in answers.values}) == 1
    assert sum(not done.replayed for done in answers.values) == 1
    assert recorded(at) == (1, 1)
    assert [entry[1] for entry in entries(effect_id)].count("decision") == 1


def test_two_persons_at_once_have_one_winner(at: Home) -> None:
    other = person(at.tenant_id, ["propose"])
    for count in range(1, 11):
        effect_id, _ = found(at, {})
        forms = [form(at, effect_id, Decision.ACCEPT), form(at, effect_id, Decision.ACCEPT)]

        def submit(number: int, effect_id: UUID = effect_id, forms: Any = forms) -> Resolved:
            with transaction.atomic():
                access.enter(at.tenant_id)
                by = (at.operator, other)[number]
                return resolutions.propose(at.tenant_id, effect_id, forms[number], by=by)

        answers = all_at_once(2, submit, as_login="web")
        assert len(answers.values) == 1
        assert isinstance(answers.errors[0], StaleState | NotPossible)
        assert recorded(at) == (count, count)


def test_a_command_says_nothing_about_another_effect(at: Home) -> None:
    first, _ = found(at, {})
    other, _ = found(at, {})
    seen = form(at, first, Decision.ACCEPT)
    decide(at, first, seen)
    with pytest.raises(LedgerError):
        decide(at, other, replace(form(at, other, Decision.ACCEPT), command_id=seen.command_id))
    assert effect_row(other)["state"] == State.UNKNOWN


def test_a_refused_command_may_be_sent_again(at: Home) -> None:
    effect_id, _ = found(at)
    seen = form(at, effect_id, Decision.REJECT, words="no")
    with pytest.raises(BadForm):
        decide(at, effect_id, seen)
    assert not decide(at, effect_id, replace(seen, words=SAID)).replayed
