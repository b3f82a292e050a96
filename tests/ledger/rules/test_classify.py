"""Only what the contract lists is definitive; everything else leaves the effect unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.classify import classify
from ledger.rules.contract import (
    After,
    Confirmed,
    Declined,
    Definitive,
    FoundObject,
    NotProcessed,
    Phase,
    Standing,
    Unclear,
)
from ledger.rules.states import Cause
from tests.ledger.rules.samples import ANSWERED, contract, found, message_contract, view

PENDING = found(standing=Standing.PENDING)
FAILED = found(standing=Standing.FAILED_NO_EFFECT)
LISTED = contract(
    definitive=(
        Definitive("account_closed", "The account is closed.", After.NEW_VERSION),
        Definitive("503/703", "The key store is down.", After.SAME_KEY),
    ),
    not_processed=("429", "not_started", "503/busy"),
)


def outcome(
    status: int | None,
    code: str | None = None,
    thing: FoundObject | None = None,
    *,
    phase: Phase = Phase.ANSWERED,
    malformed: bool = False,
    attempts: int = 1,
    message: bool = False,
    **more: object,
) -> tuple[str, object]:
    """The outcome's class, and its cause, code or object id."""
    result = classify(
        message_contract() if message else LISTED,
        view(attempts=attempts),
        phase=phase,
        status=status,
        code=code,
        found=thing,
        malformed=malformed,
        retry_after=30,
        answer=ANSWERED,
        **more,  # type: ignore[arg-type]
    )
    match result:
        case Confirmed():
            return "confirmed", result.found.object_id
        case Declined():
            return "declined", result.code
        case NotProcessed():
            return "not processed", result.retry_after_seconds
        case Unclear():
            return "unclear", result.cause.value


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((201, None, found()), ("confirmed", "po_9F4C81D07Q2K")),
        ((200, None, found()), ("confirmed", "po_9F4C81D07Q2K")),
        ((202, None, found()), ("unclear", "acknowledged_only")),
        ((202, None, None), ("unclear", "acknowledged_only")),
        ((200, "received", None), ("unclear", "acknowledged_only")),
        ((200, None, PENDING), ("unclear", "acknowledged_only")),
        ((200, None, None), ("unclear", "unreadable_answer")),
        ((200, None, found(amount_minor=5)), ("unclear", "mismatch")),
        ((200, None, found(currency="USD")), ("unclear", "mismatch")),
        ((200, None, found(counterparty="x")), ("unclear", "mismatch")),
        ((200, None, found(account="x")), ("unclear", "mismatch")),
        ((200, None, found(standing=Standing.REVERSED)), ("unclear", "unlisted_answer")),
        ((200, None, FAILED), ("unclear", "unlisted_answer")),
        ((200, "account_closed", None), ("declined", "account_closed")),
        ((200, "account_closed", FAILED), ("declined", "account_closed")),
        ((200, "account_closed", found()), ("unclear", "mismatch")),
        ((422, "account_closed", None), ("declined", "account_closed")),
        ((402, "account_closed", FAILED), ("declined", "account_closed")),
        ((402, "account_closed", found()), ("unclear", "mismatch")),
        ((422, "insufficient_balance", None), ("unclear", "unlisted_answer")),
        ((400, None, None), ("unclear", "unlisted_answer")),
        ((404, None, None), ("unclear", "unlisted_answer")),
        ((408, "account_closed", None), ("unclear", "unlisted_answer")),
        ((425, "account_closed", None), ("unclear", "unlisted_answer")),
        ((499, "account_closed", None), ("unclear", "unlisted_answer")),
        ((409, "account_closed", None), ("unclear", "in_progress")),
        ((409, "key_in_use", found()), ("unclear", "in_progress")),
        ((429, None, None), ("not processed", 30)),
        ((429, "rate_limited", None), ("not processed", 30)),
        ((400, "not_started", None), ("not processed", 30)),
        ((200, "not_started", None), ("unclear", "unreadable_answer")),
        ((500, None, None), ("unclear", "server_error")),
        ((500, "account_closed", None), ("unclear", "server_error")),
        ((500, "not_started", None), ("unclear", "server_error")),
        ((503, "703", None), ("declined", "503/703")),
        ((502, "703", None), ("unclear", "server_error")),
        ((503, "busy", None), ("not processed", 30)),
        ((599, None, None), ("unclear", "server_error")),
        ((301, None, None), ("unclear", "unlisted_answer")),
        ((700, "account_closed", None), ("unclear", "unlisted_answer")),
        ((None, None, None), ("unclear", "unreadable_answer")),
        ((None, "account_closed", None), ("unclear", "unreadable_answer")),
    ],
    ids=str,
)
def test_an_answer_proves_what_the_contract_lists_and_no_more(
    given: tuple[int | None, str | None, FoundObject | None], expected: tuple[str, object]
) -> None:
    assert outcome(*given) == expected


@pytest.mark.parametrize("status", [429, 400, 503])
def test_not_processed_holds_for_the_only_attempt(status: int) -> None:
    code = {429: None, 400: "not_started", 503: "busy"}[status]
    assert outcome(status, code)[0] == "not processed"
    assert outcome(status, code, attempts=2)[0] == "unclear"


def test_a_request_that_provably_never_left_may_be_sent_again() -> None:
    assert outcome(None, phase=Phase.NOT_SENT) == ("not processed", 30)


@pytest.mark.parametrize("phase", [Phase.SENT, Phase.PARTIAL_ANSWER])
@pytest.mark.parametrize("silence", [Cause.TIMEOUT, Cause.RESET, Cause.INTERRUPTED])
def test_silence_never_means_failure(phase: Phase, silence: Cause) -> None:
    assert outcome(422, "account_closed", phase=phase, silence=silence) == ("unclear", silence)
    assert outcome(None, phase=phase) == ("unclear", "timeout")


@pytest.mark.parametrize("status", [200, 201, 422])
def test_a_malformed_answer_proves_nothing(status: int) -> None:
    got = outcome(status, "account_closed", found(), malformed=True)
    assert got == ("unclear", "unreadable_answer")


def test_a_server_error_is_remembered() -> None:
    result = classify(
        LISTED,
        view(),
        phase=Phase.ANSWERED,
        status=502,
        code=None,
        found=None,
        malformed=True,
        retry_after=None,
        answer=ANSWERED,
    )
    assert isinstance(result, Unclear)
    assert (result.cause, result.server_error) == (Cause.SERVER_ERROR, True)


def test_for_a_message_taken_is_all_there_is_to_confirm() -> None:
    mail = found("msg_1", amount_minor=None, currency=None)
    assert outcome(202, None, mail, message=True) == ("confirmed", "msg_1")
    assert outcome(202, "queued", mail, message=True) == ("unclear", "acknowledged_only")


@given(
    status=st.none() | st.integers(100, 999),
    code=st.none() | st.sampled_from(["account_closed", "703", "busy", "other", "received"]),
    thing=st.none() | st.sampled_from([found(), PENDING, FAILED, found(amount_minor=1)]),
    phase=st.sampled_from(Phase),
    malformed=st.booleans(),
    attempts=st.integers(1, 3),
)
def test_no_answer_confirms_or_declines_beyond_the_list(
    status: int | None,
    code: str | None,
    thing: FoundObject | None,
    phase: Phase,
    malformed: bool,
    attempts: int,
) -> None:
    kind, what = outcome(status, code, thing, phase=phase, malformed=malformed, attempts=attempts)
    if kind == "confirmed":
        assert thing == found()
        assert phase is Phase.ANSWERED
        assert status in range(200, 300)
        assert not malformed
    if kind == "declined":
        assert what in ("account_closed", "503/703")
        assert phase is Phase.ANSWERED
        assert thing in (None, FAILED)
    if kind == "not processed":
        assert phase is Phase.NOT_SENT or attempts == 1
