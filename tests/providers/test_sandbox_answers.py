"""Answers that are not as documented: never a success, never a refusal, never kept whole."""

import pytest

from ledger.rules.contract import Unclear
from ledger.rules.states import Cause
from tests.providers.peer import Sandbox
from tests.providers.sending import assert_unclear, send_after

OBJECT = (
    '{"id":"ch_0123456789abcdef","object":"charge","status":"succeeded","amount":12900,'
    '"currency":"EUR","counterparty":"cus_7f3a","account":"acct_north",'
    '"created":"2026-11-30T10:00:00.000Z","reference":null,"request_id":null,'
    '"idempotency_key":null,"failure_code":null}'
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"ch_1"',
        "{}",
        '{"status":"succeeded"}',
        OBJECT[:-1],
        OBJECT + OBJECT,
        OBJECT.replace('"amount":12900', '"amount":12900,"amount":1'),
        OBJECT.replace("12900", "12900.0"),
        OBJECT.replace("12900", "1e400"),
        OBJECT.replace("12900", "NaN"),
        OBJECT.replace("12900", "true"),
        OBJECT.replace("12900", '"12900"'),
        OBJECT.replace("12900", "-12900"),
        OBJECT.replace("12900", "9" * 5000),
        OBJECT.replace("12900", "9007199254740993"),
        OBJECT.replace("cus_7f3a", "cus\\u0000"),
        OBJECT.replace("cus_7f3a", "\\ud800"),
        OBJECT.replace("cus_7f3a", "c" * 500),
        OBJECT.replace('"charge"', '"payout"'),
        OBJECT.replace("succeeded", "won"),
        OBJECT.replace("ch_0123456789abcdef", "<script>"),
        OBJECT.replace("2026-11-30T10:00:00.000Z", "yesterday"),
        OBJECT.replace("2026-11-30T10:00:00.000Z", "2026-11-30T10:00:00"),
        OBJECT.replace('"EUR"', '"eur"'),
        OBJECT.replace('"failure_code":null', '"deep":' + "[" * 1200 + "]" * 1200),
        "<html>welcome</html>",
    ],
)
def test_a_success_that_is_not_exactly_as_documented_is_unreadable(
    provider_log: Sandbox, text: str
) -> None:
    outcome, _ = send_after(provider_log, {"raw": {"text": text, "status": 201}})
    assert_unclear(outcome, Cause.UNREADABLE_ANSWER)


@pytest.mark.parametrize(
    "raw",
    [
        {"text": '{"error":{"code":"card_declined"}}', "status": 402, "content_type": "text/html"},
        {"text": "<html>card_declined</html>", "status": 402},
        {"text": '{"error":"card_declined"}', "status": 402},
        {"text": '{"code":"card_declined"}', "status": 402},
        {"text": '{"error":{"code":"card_declined"}}', "status": 500},
        {"text": '{"error":{"code":"card_declined"}}', "status": 503},
        {"text": '{"error":{"code":"CARD_DECLINED"}}', "status": 402},
        {"text": '{"error":{"code":"card_declined"}}', "status": 408},
        {"text": '{"error":{"code":"card_declined"}}', "status": 302},
        {"text": '{"error":{"code":["card_declined"]}}', "status": 402},
        {"text": '{"error":{"code":"unauthorized"}}', "status": 401},
        {"text": "", "status": 400},
        {"text": '{"error":{"code":"not_found"}}', "status": 404},
        {"text": "x" * 1024, "repeat": 300, "status": 402},
    ],
    ids=lambda raw: f"{raw['status']} {raw['text'][:40]}",
)
def test_a_refusal_that_the_contract_does_not_list_never_rejects(
    provider_log: Sandbox, raw: dict[str, object]
) -> None:
    outcome, _ = send_after(provider_log, {"raw": raw})
    assert isinstance(outcome, Unclear), outcome
    assert len(provider_log.requests()) == 1


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
def test_a_refusal_in_another_form_is_unreadable_not_unlisted(
    provider_log: Sandbox, kind: str
) -> None:
    raw = {"text": "<html>402</html>", "status": 402, "content_type": kind}
    outcome, _ = send_after(provider_log, {"raw": raw})
    assert_unclear(outcome, Cause.UNREADABLE_ANSWER)


CANARY = "4242 4242 4242 4242"


@pytest.mark.parametrize(
    "text",
    [
        OBJECT.replace("{", f'{{"card":"{CANARY}","client_secret":"{CANARY}",', 1),
        OBJECT.replace("cus_7f3a", CANARY),
        OBJECT.replace("acct_north", CANARY),
        OBJECT.replace('"reference":null', f'"reference":"{CANARY}"'),
        OBJECT.replace('"request_id":null', f'"request_id":"{CANARY}"'),
        OBJECT.replace('"idempotency_key":null', f'"idempotency_key":"{CANARY}"'),
        OBJECT.replace('"failure_code":null', f'"failure_code":"{CANARY}"'),
        OBJECT.replace("succeeded", CANARY),
        f'{{"error":{{"code":"c{CANARY.replace(" ", "")}","message":"{CANARY}"}}}}',
    ],
)
def test_what_is_kept_of_an_answer_holds_no_canary(provider_log: Sandbox, text: str) -> None:
    headers = {"Set-Cookie": CANARY, "X-Request-Id": CANARY, "Retry-After": CANARY}
    raw = {"text": text, "status": 201, "headers": headers}
    outcome, _ = send_after(provider_log, {"raw": raw})
    assert isinstance(outcome, Unclear), outcome
    assert CANARY not in repr(outcome)
    assert CANARY.replace(" ", "") not in repr(outcome)
