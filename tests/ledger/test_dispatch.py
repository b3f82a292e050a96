"""Claim and settle: one winner, no guess, nothing lost."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection, transaction

from ledger import clock, contracts, dispatch
from ledger.errors import (
    BadIntent,
    DispatchTooLate,
    Frozen,
    InsideTransaction,
    LedgerError,
)
from ledger.rules.contract import Confirmed, Declined, NotProcessed, Unclear
from ledger.rules.states import Cause, State
from tests.builders import (
    PAY,
    Home,
    answer,
    confirmed,
    dispatched,
    effect_row,
    found_for,
    guards_aside,
    one_row,
    open_row,
    prepare,
    prepared,
    yes,
)
from tests.crowd import all_at_once
from tests.ledger.sending import claim, kinds, settle
from tests.logins import login

# --- claim ---


def test_many_claims_at_once_have_one_winner(at: Home) -> None:
    effect_id = prepared(at)
    answers = all_at_once(
        8,
        lambda n: dispatch.claim(at.tenant_id, effect_id, worker=f"w{n}"),
        as_login="worker",
    )
    assert not answers.errors
    won = [held for held in answers.values if held]
    assert len(won) == 1
    assert kinds(effect_id) == ["prepared", "sent"]
    assert won[0].fence == 2


def test_two_effects_for_one_object_claimed_at_once_have_one_winner(at: Home) -> None:
    both = [prepared(at, object_ref="n-1"), prepared(at, object_ref="n-1")]
    answers = all_at_once(
        2, lambda n: dispatch.claim(at.tenant_id, both[n], worker=f"w{n}"), as_login="worker"
    )
    assert len(answers.values) == 1
    assert [type(error) for error in answers.errors] == [Frozen]


def test_a_claim_carries_what_is_sent(at: Home) -> None:
    wanted = at.intent(request={"to": "alice", "b": 1, "a": 2})
    held = claim(at, prepare(wanted).effect_id)
    assert held.view.request == '{"a":2,"b":1,"to":"alice"}'
    assert (held.view.amount_minor, held.view.currency) == (4_200, "EUR")
    assert held.view.fence == held.fence
    assert held.contract == PAY
    assert not held.view.fenced


def test_a_claim_is_the_dispatch_mark_with_its_lease_and_key_window(at: Home) -> None:
    held = dispatched(at)
    stored = effect_row(held.effect_id)
    assert stored["attempts"] == 1
    assert stored["lease_until"] - stored["last_attempt_at"] == timedelta(seconds=8)
    assert stored["key_until"] - stored["first_attempt_at"] == timedelta(days=1)
    assert open_row(held.effect_id)["due_at"] == stored["lease_until"]


def test_nothing_is_claimed_inside_a_transaction(at: Home) -> None:
    effect_id = prepared(at)
    with transaction.atomic(), pytest.raises(InsideTransaction):
        dispatch.claim(at.tenant_id, effect_id, worker="w1")
    assert effect_row(effect_id)["state"] == State.PREPARED


def test_nothing_is_sent_after_its_time_and_it_is_rejected_as_never_sent(at: Home) -> None:
    effect_id = prepared(at, operation="pay_late")
    with pytest.raises(DispatchTooLate):
        claim(at, effect_id)
    with login("worker"):
        assert dispatch.expire(at.tenant_id, effect_id)
        assert not dispatch.expire(at.tenant_id, effect_id)
    stored = effect_row(effect_id)
    assert (stored["state"], stored["reject_kind"]) == (State.REJECTED, "not_dispatched")
    assert not open_row(effect_id)


def test_what_is_on_its_way_does_not_expire(at: Home) -> None:
    held = dispatched(at)
    with login("worker"):
        assert not dispatch.expire(at.tenant_id, held.effect_id)
    assert effect_row(held.effect_id)["state"] == State.DISPATCHED


# --- settle ---


def test_an_answer_that_agrees_confirms_with_its_receipt(at: Home) -> None:
    held = dispatched(at)
    outcome = yes(held)
    assert settle(held, outcome) == dispatch.Settled(State.CONFIRMED, no=3)
    stored = effect_row(held.effect_id)
    assert stored["provider_result_id"] == outcome.found.object_id
    assert stored["response_digest"].hex() == outcome.answer.body_digest
    assert stored["completed_at"]
    assert (
        one_row(
            "select kind, ref from effect_ref where effect_id = %s and kind = 'receipt'",
            held.effect_id,
        )["ref"]
        == outcome.found.object_id
    )
    assert not open_row(held.effect_id)


@pytest.mark.parametrize("digest", [None, "", "00"])
def test_an_answer_without_a_digest_of_its_body_confirms_nothing(
    at: Home, digest: str | None
) -> None:
    held = dispatched(at)
    outcome = Confirmed(found_for(held.view), answer(body_digest=digest))
    with pytest.raises(LedgerError):
        settle(held, outcome)
    assert effect_row(held.effect_id)["state"] == State.DISPATCHED


def test_a_listed_refusal_rejects_with_its_code(at: Home) -> None:
    held = dispatched(at)
    settled = settle(held, Declined("card_declined", answer(status=402)))
    stored = effect_row(held.effect_id)
    assert settled.state is State.REJECTED
    assert (stored["reject_kind"], stored["declined_code"]) == (
        "provider_declined", "card_declined")  # fmt: skip


def test_an_answer_listed_as_not_processed_puts_it_back(at: Home) -> None:
    held = dispatched(at)
    settle(held, NotProcessed(answer(status=429), retry_after_seconds=90))
    stored, waiting = effect_row(held.effect_id), open_row(held.effect_id)
    assert (stored["state"], stored["lease_until"]) == (State.PREPARED, None)
    assert timedelta(seconds=80) < waiting["due_at"] - clock.now() < timedelta(seconds=91)
    assert claim(at, held.effect_id).view.attempts == 2
    assert effect_row(held.effect_id)["first_attempt_at"] == stored["first_attempt_at"]


@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.RESET, Cause.UNLISTED_ANSWER])
def test_anything_else_leaves_it_unknown(at: Home, cause: Cause) -> None:
    held = dispatched(at)
    settle(held, Unclear(cause, answer()))
    stored, waiting = effect_row(held.effect_id), open_row(held.effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, cause.value)
    assert (waiting["state"], waiting["finding"]) == (State.UNKNOWN, None)
    assert waiting["due_at"] <= clock.now()


def test_a_server_error_is_remembered(at: Home) -> None:
    held = dispatched(at)
    settle(held, Unclear(Cause.SERVER_ERROR, answer(status=500), server_error=True))
    assert effect_row(held.effect_id)["server_error"] is True


def test_a_receipt_that_is_anothers_leaves_it_unknown_as_a_mismatch(at: Home) -> None:
    taken = effect_row(confirmed(at))["provider_result_id"]
    held = dispatched(at)
    settled = settle(held, yes(held, object_id=taken))
    stored = effect_row(held.effect_id)
    assert settled.state is State.UNKNOWN
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.MISMATCH.value)
    assert stored["provider_result_id"] is None
    assert kinds(held.effect_id) == ["prepared", "sent", "given_up"]


def test_the_same_receipt_in_another_tenant_or_account_is_free(at: Home) -> None:
    from tests.builders import home

    taken = effect_row(confirmed(at))["provider_result_id"]
    for held in (dispatched(home()), dispatched(at, account="second")):
        assert settle(held, yes(held, object_id=taken)).state is State.CONFIRMED


def test_an_answer_twice_moves_once_and_is_kept(at: Home) -> None:
    held = dispatched(at)
    settle(held, yes(held))
    again = settle(held, yes(held))
    assert again == dispatch.Settled(None, no=4, late=True)
    assert kinds(held.effect_id) == ["prepared", "sent", "answer", "late_answer"]


# --- what is kept ---


def test_contracts_of_one_version_never_change(at: Home) -> None:
    with pytest.raises(BadIntent):
        contracts.store(replace(PAY, title="Other"))
    assert contracts.load("testbank", "pay", "1") == PAY


def test_found_objects_are_searchable_by_their_ids(at: Home) -> None:
    held = dispatched(at)
    found = found_for(held.view, amount_minor=1)
    settle(held, Unclear(Cause.MISMATCH, answer(request_id="req-7"), found=found))
    refs = one_row(
        "select array_agg(kind || ':' || ref order by kind) as all from effect_ref"
        " where effect_id = %s",
        held.effect_id,
    )
    assert refs == {"all": [f"object:{found.object_id}", "request:req-7"]}


def test_time_is_moved_past_the_guards_only_by_tests(at: Home) -> None:
    effect_id = prepared(at)
    with guards_aside() as cursor:
        cursor.execute(
            "update effect set dispatch_until = now() where effect_id = %s", (effect_id,)
        )
    with pytest.raises(DispatchTooLate):
        claim(at, effect_id)
    assert connection.in_atomic_block is False
