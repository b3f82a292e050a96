"""A decision is recorded only with its reason, its evidence, its words and what was read."""

import pytest

from ledger.rules.cases import CaseFacts, Decision
from ledger.rules.decisions import option
from ledger.rules.forms import shortcomings
from tests.ledger.rules.samples import ABSENT, EXACT, SHORT, TWO, facts, found, item

TWO_PEOPLE = dict.fromkeys(Decision, 2)
PLENTY = "The bank took forty euros as its fee, see the advice of 14 October."
ACCEPT = {"reason_code": "found_by_key", "words": "", "evidence": (6,)}
ABOVE = {
    **ACCEPT,
    "words": "Timeout on our side.",
    "typed": {"object_last_four": "7Q2K"},
}
DIFFERENCE = {
    "reason_code": "fee_deducted",
    "words": PLENTY,
    "evidence": (6,),
    "typed": {"object_last_four": "7Q2K", "found_amount": "11,960.00 EUR"},
}
CHOICE = {
    "reason_code": "time_fits",
    "words": PLENTY,
    "evidence": (6,),
    "object_id": "po_other",
    "typed": {"object_last_four": "ther", "found_amount": "EUR 12000"},
}
RETRY = {
    "reason_code": "absence_proven",
    "words": "Nothing there after settling; supplier waits.",
    "evidence": (6,),
    "typed": {"intent_amount": "12 000,00 EUR"},
}
CANDIDATES = item(6, found("po_first"), found("po_other"))

BELOW_CASE = facts(EXACT)
ABOVE_CASE = facts(EXACT, people_required=TWO_PEOPLE)
DIFFERENCE_CASE = facts(SHORT, people_required=TWO_PEOPLE)
CHOICE_CASE = facts(CANDIDATES, people_required=TWO_PEOPLE)
RETRY_CASE = facts(ABSENT)


def lacks(decision: str, case: CaseFacts, form: dict[str, object]) -> list[str]:
    found_ = shortcomings(option(Decision(decision), case), case, **form)  # type: ignore[arg-type]
    return [lack.words.render() for lack in found_]


@pytest.mark.parametrize(
    ("decision", "case", "form"),
    [
        ("accept", BELOW_CASE, ACCEPT),
        ("accept", BELOW_CASE, {**ACCEPT, "object_id": "po_9F4C81D07Q2K"}),
        ("accept", ABOVE_CASE, ABOVE),
        ("accept", ABOVE_CASE, {**ABOVE, "typed": {"object_last_four": " 7q2k "}}),
        ("accept_with_difference", DIFFERENCE_CASE, DIFFERENCE),
        ("accept_one_of_several", CHOICE_CASE, CHOICE),
        ("redispatch", RETRY_CASE, RETRY),
        ("redispatch", RETRY_CASE, {**RETRY, "typed": {"intent_amount": "12,000 EUR"}}),
        ("redispatch", RETRY_CASE, {**RETRY, "typed": {"intent_amount": "eur 12000.00"}}),
        ("look_up", BELOW_CASE, {"reason_code": "", "words": ""}),
    ],
)
def test_a_whole_form_lacks_nothing(
    decision: str, case: CaseFacts, form: dict[str, object]
) -> None:
    assert lacks(decision, case, form) == []


@pytest.mark.parametrize(
    ("decision", "case", "form", "missing"),
    [
        (
            "accept",
            BELOW_CASE,
            {**ACCEPT, "reason_code": "absence_proven"},
            ["Choose a reason from the list."],
        ),
        (
            "accept",
            BELOW_CASE,
            {**ACCEPT, "reason_code": ""},
            ["Choose a reason from the list."],
        ),
        (
            "accept",
            BELOW_CASE,
            {**ACCEPT, "evidence": ()},
            ["Choose the evidence you rely on: E6."],
        ),
        (
            "accept",
            BELOW_CASE,
            {**ACCEPT, "evidence": (5, 6)},
            ["E5 does not carry this decision."],
        ),
        (
            "accept",
            BELOW_CASE,
            {**ACCEPT, "object_id": "po_1"},
            ["The receipt is another one than the page showed. Read the case again."],
        ),
        (
            "accept",
            ABOVE_CASE,
            {**ABOVE, "words": "too short"},
            ["Say why in your words, 10 characters or more."],
        ),
        (
            "accept",
            ABOVE_CASE,
            {**ABOVE, "words": " a         b        "},
            ["Say why in your words, 10 characters or more."],
        ),
        (
            "accept",
            ABOVE_CASE,
            {**ABOVE, "words": "xxxxxxxxxxxxxxxx"},
            ["Say why in words that another person understands."],
        ),
        (
            "accept",
            ABOVE_CASE,
            {**ABOVE, "typed": {}},
            ["Type the last 4 of the id that Baltic holds."],
        ),
        (
            "accept",
            ABOVE_CASE,
            {**ABOVE, "typed": {"object_last_four": "7Q2"}},
            ["Not what Baltic holds. Read it again in Sent and found."],
        ),
        (
            "accept_with_difference",
            DIFFERENCE_CASE,
            {
                **DIFFERENCE,
                "typed": {"object_last_four": "7Q2K", "found_amount": "12,000.00 EUR"},
            },
            ["Not what Baltic holds. Read it again in Sent and found."],
        ),
        (
            "accept_with_difference",
            DIFFERENCE_CASE,
            {**DIFFERENCE, "typed": {"object_last_four": "7Q2K", "found_amount": "11960.00"}},
            ["Not what Baltic holds. Read it again in Sent and found."],
        ),
        (
            "accept_one_of_several",
            CHOICE_CASE,
            {**CHOICE, "object_id": None},
            [
                "Choose the one that is ours.",
                "Not what Baltic holds. Read it again in Sent and found.",
                "Not what Baltic holds. Read it again in Sent and found.",
            ],
        ),
        (
            "accept_one_of_several",
            CHOICE_CASE,
            {**CHOICE, "object_id": "po_first"},
            ["Not what Baltic holds. Read it again in Sent and found."],
        ),
        (
            "redispatch",
            RETRY_CASE,
            {**RETRY, "typed": {"intent_amount": "12,000.01 EUR"}},
            ["Not what we meant to send. Read it again in Sent and found."],
        ),
        (
            "redispatch",
            RETRY_CASE,
            {**RETRY, "typed": {"intent_amount": "12,000.00 USD"}},
            ["Not what we meant to send. Read it again in Sent and found."],
        ),
        (
            "redispatch",
            RETRY_CASE,
            {**RETRY, "typed": {"intent_amount": "all of it, EUR"}},
            ["Not what we meant to send. Read it again in Sent and found."],
        ),
        ("reject", BELOW_CASE, {**RETRY}, ["A matching payout exists (E6)."]),
        (
            "redispatch",
            RETRY_CASE,
            {"reason_code": "", "words": "", "evidence": ()},
            [
                "Choose a reason from the list.",
                "Choose the evidence you rely on: E6.",
                "Say why in your words, 20 characters or more.",
                "Type the amount that we meant to send, with its currency.",
            ],
        ),
    ],
)
def test_each_thing_missing_is_named(
    decision: str, case: CaseFacts, form: dict[str, object], missing: list[str]
) -> None:
    assert lacks(decision, case, form) == missing


def test_a_wrong_entry_never_shows_the_right_one() -> None:
    form = {**DIFFERENCE, "typed": {"object_last_four": "xxxx", "found_amount": "1 EUR"}}
    text = " ".join(lacks("accept_with_difference", DIFFERENCE_CASE, form))
    assert "7Q2K" not in text
    assert "11,960" not in text


def test_a_locked_decision_lacks_its_proof_whatever_is_filled_in() -> None:
    assert lacks("accept", facts(TWO), ACCEPT) == ["2 payouts were found that could be ours (E6)."]
