"""Sending through the sandbox's adapter: every fault, on both sides."""

import threading
from dataclasses import replace

import pytest

from ledger.rules.contract import (
    Confirmed,
    Contract,
    Declined,
    NotProcessed,
    Phase,
    SendOutcome,
    Standing,
    Unclear,
)
from ledger.rules.digest import digest
from ledger.rules.states import Cause
from providers.sandbox import adapter
from providers.sandbox.profiles import PROFILES
from tests.providers.intents import request_of, view_of
from tests.providers.peer import Sandbox
from tests.providers.sending import (
    CHARGE,
    CONTRACTS,
    PAYOUT,
    assert_unclear,
    dispatch,
    fresh,
    send_after,
)

ALL = pytest.mark.parametrize("contract", adapter.CONTRACTS, ids=lambda c: c.operation)


@ALL
def test_a_plain_send_is_confirmed_by_the_object_that_was_made(
    provider_log: Sandbox, contract: Contract
) -> None:
    view = fresh(provider_log, contract)
    outcome = dispatch(view, contract)
    assert isinstance(outcome, Confirmed), outcome
    (effect,) = provider_log.effects()
    assert outcome.found.object_id == effect["id"]
    assert outcome.found.standing is Standing.TOOK_EFFECT
    assert outcome.found.request_id == f"{view.effect_id}.1"
    assert (outcome.answer.status, outcome.answer.replayed) == (201, False)
    assert outcome.answer.excerpt["id"] == effect["id"]
    assert outcome.answer.request_id == f"{view.effect_id}.1"


@ALL
def test_the_wire_carries_key_fence_and_the_frozen_bytes(
    provider_log: Sandbox, contract: Contract
) -> None:
    view = fresh(provider_log, contract, fence=7, intent_key="order:ä 1:collect:v1")
    dispatch(view, contract)
    (row,) = provider_log.requests()
    assert row["key"] == (view.provider_key if contract.key_window_seconds else None)
    assert (row["attempt"], row["request_id"]) == ("7", f"{view.effect_id}.7")
    assert (row["reference"], row["tenant"]) == ("order:ä 1:collect:v1", view.tenant)
    assert row["account"] == view.account
    assert row["body_digest"] == digest(view.request.encode()).hex()


@pytest.mark.parametrize(
    ("contract", "code"),
    [(contract, listed.code) for contract in adapter.CONTRACTS for listed in contract.definitive],
    ids=lambda value: value if isinstance(value, str) else value.operation,
)
def test_a_listed_refusal_is_declined_and_nothing_took_effect(
    provider_log: Sandbox, contract: Contract, code: str
) -> None:
    view = fresh(provider_log, contract, counterparty=f"c_{code}")
    outcome = dispatch(view, contract)
    assert isinstance(outcome, Declined), outcome
    assert outcome.code == outcome.answer.code == code
    assert provider_log.creates() == 0


def test_every_documented_refusal_is_listed_and_no_other() -> None:
    for profile in PROFILES:
        listed = {definitive.code for definitive in CONTRACTS[profile.operation].definitive}
        assert listed == set(profile.refusals)


@ALL
def test_contract_and_sandbox_agree_on_windows(contract: Contract) -> None:
    (profile,) = (p for p in PROFILES if p.operation == contract.operation)
    assert contract.key_window_seconds == profile.key_seconds
    assert contract.has_amount == profile.has_amount
    assert contract.stores_5xx == profile.stores_errors
    reach = {t.reach_back_seconds for t in contract.routes if t.reach_back_seconds is not None}
    assert reach == {profile.reach_back_seconds}


@pytest.mark.parametrize(
    ("fault", "cause", "effects", "status"),
    [
        ("lose_answer", Cause.RESET, 1, None),
        ({"lose_answer": True, "not_done": True}, Cause.RESET, 0, None),
        ("reset_before", Cause.RESET, 0, None),
        ("reset_after", Cause.RESET, 1, None),
        ("truncated", Cause.RESET, 1, 201),
        ("error_500_done", Cause.SERVER_ERROR, 1, 500),
        ("error_500_not_done", Cause.SERVER_ERROR, 0, 500),
        ("html_502", Cause.SERVER_ERROR, 1, 502),
        ({"html_502": True, "not_done": True}, Cause.SERVER_ERROR, 0, 502),
        ("empty_200", Cause.UNREADABLE_ANSWER, 1, 200),
        ("acknowledge_202", Cause.ACKNOWLEDGED_ONLY, 1, 202),
        ("stay_pending", Cause.ACKNOWLEDGED_ONLY, 1, 201),
        ({"decline": "do_not_honour"}, Cause.UNLISTED_ANSWER, 0, 402),
    ],
    ids=str,
)
def test_an_answer_that_proves_nothing_leaves_the_effect_unclear(
    provider_log: Sandbox, fault: object, cause: Cause, effects: int, status: int | None
) -> None:
    outcome, view = send_after(provider_log, fault)
    unclear = assert_unclear(outcome, cause)
    assert unclear.server_error == (cause is Cause.SERVER_ERROR)
    assert unclear.answer.status == status
    assert len(provider_log.requests(reference=view.intent_key, kind="create")) == 1
    assert provider_log.creates(key=view.provider_key) == effects


@pytest.mark.parametrize(
    ("fault", "effects"), [("hold", 1), ("hold_before", 0), ({"delay_after_seconds": 1}, 1)]
)
def test_a_late_answer_is_a_timeout_and_proves_nothing(
    provider_log: Sandbox, fault: object, effects: int
) -> None:
    view = fresh(provider_log)
    provider_log.script(fault, reference=view.intent_key)
    hurried = replace(CHARGE, deadline_seconds=0.2)  # type: ignore[arg-type]
    unclear = assert_unclear(dispatch(view, hurried), Cause.TIMEOUT)
    assert unclear.answer.phase is Phase.SENT
    assert 150 <= unclear.answer.duration_ms < 3000
    assert provider_log.creates() == effects
    provider_log.release()


def test_a_request_that_waits_at_the_provider_is_done_after_we_hung_up(
    provider_log: Sandbox,
) -> None:
    view = fresh(provider_log)
    provider_log.script("hold_before", reference=view.intent_key)
    hurried = replace(CHARGE, deadline_seconds=0.2)  # type: ignore[arg-type]
    assert_unclear(dispatch(view, hurried), Cause.TIMEOUT)
    assert provider_log.creates() == 0
    assert provider_log.release() == 1
    provider_log.wait_for("client_gone", key=view.provider_key)
    assert provider_log.creates(key=view.provider_key) == 1


@ALL
def test_429_on_the_only_attempt_is_not_processed(
    provider_log: Sandbox, contract: Contract
) -> None:
    outcome, view = send_after(provider_log, {"status_429": 3600}, contract)
    assert isinstance(outcome, NotProcessed), outcome
    assert outcome.retry_after_seconds == 3600
    assert outcome.answer.retry_after_seconds == 3600
    assert provider_log.creates() == 0
    assert isinstance(dispatch(view, contract), Confirmed)


def test_429_without_a_time_is_not_processed_either(provider_log: Sandbox) -> None:
    outcome, _ = send_after(provider_log, "status_429")
    assert isinstance(outcome, NotProcessed)
    assert outcome.retry_after_seconds is None


def test_429_after_an_earlier_attempt_says_nothing_about_that_one(provider_log: Sandbox) -> None:
    outcome, _ = send_after(provider_log, "status_429", attempts=2, fence=3)
    assert_unclear(outcome, Cause.UNLISTED_ANSWER)


def test_a_replayed_answer_is_confirmed_and_marked(provider_log: Sandbox) -> None:
    outcome, view = send_after(provider_log, "lose_answer")
    assert_unclear(outcome, Cause.RESET)
    again = dispatch(replace(view, fence=2, attempts=2), CHARGE)
    assert isinstance(again, Confirmed), again
    assert again.answer.replayed
    assert again.found.request_id == f"{view.effect_id}.1"
    assert provider_log.creates(key=view.provider_key) == 1


def test_a_stored_500_is_replayed_and_stays_unclear(provider_log: Sandbox) -> None:
    outcome, view = send_after(provider_log, "error_500_done")
    again = assert_unclear(dispatch(view, CHARGE), Cause.SERVER_ERROR)
    assert isinstance(outcome, Unclear)
    assert again.answer.replayed
    assert provider_log.creates() == 1


def test_the_key_with_another_request_is_never_a_rejection(provider_log: Sandbox) -> None:
    for contract in (CHARGE, PAYOUT):
        view = fresh(provider_log, contract)
        assert isinstance(dispatch(view, contract), Confirmed)
        other = replace(view, amount_minor=1)
        other = replace(other, request=request_of(other))
        outcome = dispatch(other, contract)
        assert isinstance(outcome, Unclear), outcome
        assert outcome.answer.code == "idempotency_mismatch"
    assert provider_log.creates() == 2


def test_a_key_that_is_running_is_in_progress(provider_log: Sandbox) -> None:
    view = fresh(provider_log)
    provider_log.script("hold", reference=view.intent_key)
    outcomes: list[SendOutcome] = []
    first = threading.Thread(target=lambda: outcomes.append(dispatch(view, CHARGE)))
    first.start()
    provider_log.wait_for("held", key=view.provider_key)
    second = dispatch(replace(view, fence=2, attempts=2), CHARGE)
    assert_unclear(second, Cause.IN_PROGRESS)
    provider_log.release()
    first.join(timeout=10)
    assert isinstance(outcomes[0], Confirmed)
    assert provider_log.creates() == 1


@pytest.mark.parametrize(
    "stored",
    [
        {"amount": 1},
        {"currency": "USD"},
        {"counterparty": "cus_other"},
        {"account": "acct_south"},
    ],
    ids=lambda stored: next(iter(stored)),
)
def test_an_object_that_differs_is_a_mismatch_with_the_object_beside_it(
    provider_log: Sandbox, stored: dict[str, object]
) -> None:
    outcome, _ = send_after(provider_log, {"stored": stored})
    unclear = assert_unclear(outcome, Cause.MISMATCH)
    assert unclear.found is not None
    assert unclear.found.object_id == provider_log.effects()[0]["id"]


def test_a_hundred_minor_units_too_many_are_a_mismatch(provider_log: Sandbox) -> None:
    outcome, _ = send_after(provider_log, "wrong_amount")
    unclear = assert_unclear(outcome, Cause.MISMATCH)
    assert unclear.found is not None
    assert unclear.found.amount_minor == 13_000


def test_an_object_made_an_hour_off_is_a_mismatch(provider_log: Sandbox) -> None:
    view = fresh(provider_log)
    provider_log.advance(3600)
    assert_unclear(dispatch(view, CHARGE), Cause.MISMATCH)


@pytest.mark.parametrize(
    "changes",
    [
        {"request": '{"amount":1,"counterparty":"cus_7f3a","currency":"EUR"}'},
        {"request": '{"amount":12900,"counterparty":"cus_7f3a","currency":"USD"}'},
        {"request": '{"amount":12900,"counterparty":"cus_other","currency":"EUR"}'},
        {"request": '{"amount":12900.0,"counterparty":"cus_7f3a","currency":"EUR"}'},
        {"request": "not json"},
        {"request": "[]"},
    ],
)
def test_a_request_that_says_something_else_than_the_effect_never_leaves(
    provider_log: Sandbox, changes: dict[str, object]
) -> None:
    outcome = dispatch(fresh(provider_log, **changes), CHARGE)
    assert isinstance(outcome, NotProcessed)
    assert (outcome.answer.phase, outcome.answer.code) == (Phase.NOT_SENT, "request_differs")
    assert provider_log.requests() == []


@pytest.mark.parametrize(
    "address",
    [None, "", "127.0.0.1:8701", "file:///etc/passwd", "http://[", "http://127.0.0.1:99999"],
)
def test_without_an_address_nothing_leaves(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    monkeypatch.delenv("SANDBOX_URL", raising=False)
    if address is not None:
        monkeypatch.setenv("SANDBOX_URL", address)
    outcome = dispatch(view_of(CHARGE), CHARGE)
    assert isinstance(outcome, NotProcessed)
    assert outcome.answer.phase is Phase.NOT_SENT


def test_where_nobody_listens_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_URL", "http://127.0.0.1:1")
    outcome = dispatch(view_of(CHARGE), CHARGE)
    assert isinstance(outcome, NotProcessed)
    assert outcome.answer.phase is Phase.NOT_SENT
