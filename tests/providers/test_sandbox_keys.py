"""The sandbox's idempotency keys: windows, matching, concurrent use, what is stored."""

import threading
from uuid import uuid4

import httpx
import pytest

from tests.providers.peer import Sandbox

BODY = {"amount": 12_900, "currency": "EUR", "counterparty": "cus_7f3a"}
DAY = 86_400
COLLECTIONS = {"charge": "charges", "payout": "payouts", "refund": "refunds"} | {
    "disbursement": "disbursements"
}


def create(
    sandbox: Sandbox,
    operation: str = "charge",
    *,
    key: str = "k1",
    body: dict[str, object] | None = None,
    **headers: str,
) -> httpx.Response:
    """Send one create with a key."""
    sent = {"Idempotency-Key": key} | {n.replace("_", "-"): v for n, v in headers.items()}
    path = f"/v1/{COLLECTIONS[operation]}"
    return sandbox.client.post(path, json=body or BODY, headers=sent)


def code(answer: httpx.Response) -> str:
    """The error code of an answer."""
    return str(answer.json()["error"]["code"])


def test_the_same_key_and_body_gets_the_stored_answer_and_makes_nothing(
    provider_log: Sandbox,
) -> None:
    first, second = create(provider_log), create(provider_log)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert provider_log.creates(key="k1") == 1
    assert [row["replayed"] for row in provider_log.requests()] == [False, True]


@pytest.mark.parametrize(
    ("operation", "status"),
    [("charge", 400), ("refund", 400), ("payout", 409), ("disbursement", 409)],
)
def test_the_same_key_with_another_body_is_refused_and_not_run(
    provider_log: Sandbox, operation: str, status: int
) -> None:
    create(provider_log, operation)
    other = create(provider_log, operation, body=BODY | {"amount": 1})
    assert (other.status_code, code(other)) == (status, "idempotency_mismatch")
    assert provider_log.creates() == 1


def test_the_same_key_on_another_route_is_refused(provider_log: Sandbox) -> None:
    create(provider_log)
    assert code(create(provider_log, "payout")) == "idempotency_mismatch"
    assert provider_log.creates() == 1


def test_keys_of_two_accounts_do_not_meet(provider_log: Sandbox) -> None:
    create(provider_log, X_Account="north")
    create(provider_log, X_Account="south")
    assert provider_log.creates(key="k1") == 2


@pytest.mark.parametrize(
    ("operation", "window"),
    [("charge", DAY), ("refund", DAY), ("payout", 30 * DAY), ("disbursement", 7200)],
)
def test_after_its_window_the_key_is_a_new_request(
    provider_log: Sandbox, operation: str, window: int
) -> None:
    create(provider_log, operation)
    provider_log.advance(window - 60)
    assert create(provider_log, operation).headers["idempotent-replayed"] == "true"
    assert provider_log.creates() == 1
    provider_log.advance(61)
    assert "idempotent-replayed" not in create(provider_log, operation).headers
    assert provider_log.creates(key="k1") == 2


def test_a_key_that_is_running_is_refused_and_then_free_again(provider_log: Sandbox) -> None:
    provider_log.script("hold", key="k1")
    answers: list[httpx.Response] = []
    first = threading.Thread(target=lambda: answers.append(create(provider_log)))
    first.start()
    provider_log.wait_for("held", key="k1")
    second = create(provider_log)
    assert (second.status_code, code(second)) == (409, "key_in_use")
    assert provider_log.release() == 1
    first.join(timeout=5)
    assert answers[0].status_code == 201
    assert create(provider_log).json() == answers[0].json()
    assert provider_log.creates(key="k1") == 1


def test_fifty_at_once_with_one_key_make_one_object(provider_log: Sandbox) -> None:
    barrier = threading.Barrier(50)
    statuses: list[int] = []

    def send() -> None:
        with httpx.Client(base_url=provider_log.url, trust_env=False, timeout=20) as client:
            barrier.wait(timeout=20)
            headers = {"Idempotency-Key": "k1"}
            statuses.append(client.post("/v1/charges", json=BODY, headers=headers).status_code)

    threads = [threading.Thread(target=send) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(statuses) == 50
    assert set(statuses) <= {201, 409}
    assert provider_log.creates(key="k1") == 1


def test_charges_store_refusals_and_errors_the_others_do_not(provider_log: Sandbox) -> None:
    provider_log.script("error_500_not_done", {"decline": "account_closed"}, key="k1")
    assert create(provider_log).status_code == 500
    assert create(provider_log).headers["idempotent-replayed"] == "true"
    assert provider_log.creates() == 0
    provider_log.script("error_500_not_done", {"decline": "account_closed"}, key="k2")
    assert create(provider_log, "payout", key="k2").status_code == 500
    assert code(create(provider_log, "payout", key="k2")) == "account_closed"
    assert create(provider_log, "payout", key="k2").status_code == 201
    assert provider_log.creates(key="k2") == 1


def test_a_forgotten_key_runs_again(provider_log: Sandbox) -> None:
    provider_log.script("forget_key", key="k1")
    create(provider_log)
    create(provider_log)
    assert provider_log.creates(key="k1") == 2


def test_emails_have_no_key_and_are_sent_twice(provider_log: Sandbox) -> None:
    for _ in range(2):
        headers = {"Idempotency-Key": "k1"}
        answer = provider_log.client.post(
            "/v1/emails", json={"counterparty": "rcpt_1"}, headers=headers
        )
        assert answer.status_code == 201
        assert answer.json()["idempotency_key"] is None
    assert provider_log.creates(operation="email") == 2


def test_a_create_without_a_key_is_refused(provider_log: Sandbox) -> None:
    answer = provider_log.client.post("/v1/charges", json=BODY)
    assert code(answer) == "key_missing"
    assert provider_log.creates() == 0


@pytest.mark.parametrize(
    "body",
    [
        {"amount": 12.5, "currency": "EUR", "counterparty": "c"},
        {"amount": True, "currency": "EUR", "counterparty": "c"},
        {"amount": 0, "currency": "EUR", "counterparty": "c"},
        {"amount": "12", "currency": "EUR", "counterparty": "c"},
        {"amount": 12, "currency": "euro", "counterparty": "c"},
        {"amount": 12, "currency": "EUR"},
    ],
)
def test_a_body_that_makes_no_sense_is_refused_and_keeps_the_key_free(
    provider_log: Sandbox, body: dict[str, object]
) -> None:
    assert code(create(provider_log, body=body)) == "invalid_request"
    assert create(provider_log).status_code == 201


@pytest.mark.parametrize(
    ("operation", "refusal", "status", "failed_objects"),
    [
        ("charge", "card_declined", 402, 1),
        ("charge", "insufficient_funds", 402, 1),
        ("payout", "account_closed", 422, 1),
        ("payout", "destination_invalid", 422, 1),
        ("refund", "charge_already_refunded", 422, 0),
        ("refund", "amount_too_large", 422, 0),
        ("disbursement", "borrower_blocked", 422, 0),
        ("disbursement", "limit_exceeded", 422, 0),
    ],
)
def test_a_counterparty_named_after_a_refusal_is_refused(
    provider_log: Sandbox, operation: str, refusal: str, status: int, failed_objects: int
) -> None:
    answer = create(provider_log, operation, body=BODY | {"counterparty": f"c_{refusal}"})
    assert (answer.status_code, code(answer)) == (status, refusal)
    assert provider_log.creates() == 0
    made = provider_log.effects()
    assert [(effect["status"], effect["failure_code"]) for effect in made] == [
        ("failed", refusal)
    ] * failed_objects


def test_refunds_of_one_charge_never_exceed_it(provider_log: Sandbox) -> None:
    charge = create(provider_log, key=str(uuid4())).json()["id"]

    def refund(amount: int) -> httpx.Response:
        body = BODY | {"amount": amount, "charge": charge}
        return create(provider_log, "refund", key=str(uuid4()), body=body)

    assert refund(8_000).status_code == 201
    assert code(refund(8_000)) == "amount_too_large"
    assert refund(4_900).status_code == 201
    assert code(refund(1)) == "charge_already_refunded"
    assert provider_log.creates(operation="refund") == 2
