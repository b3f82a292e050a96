"""Where a case stands is written from the evidence, each line with its source."""

import pytest

from ledger.rules.cases import CaseFacts
from ledger.rules.contract import Route
from ledger.rules.standing import Standing3, standing, summary
from ledger.rules.states import Cause, State
from tests.ledger.rules.samples import (
    ABSENT,
    EARLY,
    EXACT,
    GONE,
    SHORT,
    TWO,
    UNREACHABLE,
    clock,
    facts,
    found,
    item,
    message_contract,
)


def said(case: CaseFacts) -> dict[str, list[str]]:
    """The three lists, each line as `words | source | entry`."""
    lists: Standing3 = standing(case)
    return {
        name: [
            f"{line.words.render(clock)} | {line.source.render(clock)} | {line.no}"
            for line in getattr(lists, name)
        ]
        for name in ("proven", "proves_nothing", "not_known")
    }


TIMEOUT = "No answer came in time. | A timeout says nothing about the outcome. | 3"
LATE = "Lookup by key, 12:21:02, 18 min after sending"
WHICH = "Which of the 2 payouts is ours. | The decision needs this | None"
OPEN = "Whether it happened. | The decision needs this | None"


def test_before_any_lookup_nothing_is_proven() -> None:
    assert said(facts()) == {"proven": [], "proves_nothing": [TIMEOUT], "not_known": [OPEN]}


def test_an_exact_find_after_an_early_empty_look() -> None:
    early = "Not found yet. Baltic needs 15 min to settle; absence counts from 12:17:44."
    assert said(facts(EARLY, EXACT)) == {
        "proven": [
            f"Baltic holds exactly one payout made with our key. | {LATE} | 6",
            (
                "Its amount, currency, recipient, account and time agree with what we sent. "
                "| 5 of 5 compared fields | 6"
            ),
        ],
        "proves_nothing": [
            TIMEOUT,
            f"{early} | Lookup by key, 12:08:19, 5 min 35 s after sending | 5",
        ],
        "not_known": [
            (
                "Whether the money has arrived. | Baltic says “processing”. "
                "Accepting records that the payout exists, no more. | 6"
            ),
        ],
    }


def test_a_difference_is_proven_and_its_cause_is_not_known() -> None:
    lists = said(facts(SHORT))
    assert lists["proven"][1:] == [
        (
            "Its currency, recipient, account and time agree with what we sent. "
            "| 4 of 5 compared fields | 6"
        ),
        "It differs: amount 40.00 less. | 4 of 5 compared fields | 6",
    ]
    assert lists["not_known"] == ["Why it differs. | The decision needs this | 6"]


@pytest.mark.parametrize(
    ("case", "proven"),
    [
        (
            facts(ABSENT),
            "Baltic holds no payout for this, and this lookup would show one. | " + LATE + " | 6",
        ),
        (
            facts(GONE),
            "Baltic holds the payout as failed: “refused”. Nothing was carried out. | "
            + LATE
            + " | 6",
        ),
        (
            facts(declined_code="account_closed", declined_no=3),
            "Baltic refused it: The account is closed. | Listed in the contract as definitive | 3",
        ),
    ],
)
def test_what_proves_that_nothing_happened_leaves_nothing_open(
    case: CaseFacts, proven: str
) -> None:
    lists = said(case)
    assert lists["proven"] == [proven]
    assert lists["not_known"] == []


def test_several_candidates_prove_nothing_yet() -> None:
    lists = said(facts(TWO))
    assert lists["proven"] == []
    assert lists["proves_nothing"][1:] == [
        f"Baltic holds 2 payouts that could be ours. | {LATE} | 6"
    ]
    assert lists["not_known"] == [
        "Which of the 2 payouts is ours. | The decision needs this | None"
    ]


def test_two_objects_over_two_lookups_prove_nothing_yet() -> None:
    lists = said(facts(EXACT, item(7, found("b"))))
    assert lists["proven"] == []
    assert lists["not_known"] == [
        "Which of the 2 payouts is ours. | The decision needs this | None"
    ]
    assert len(lists["proves_nothing"]) == 3


def test_lookups_that_disagree_prove_nothing() -> None:
    lists = said(facts(EXACT, item(8, at=1_150)))
    assert lists["proven"] == []
    assert [line.rsplit(" | ", 2)[1:] for line in lists["proves_nothing"][1:]] == [
        ["A later lookup says something else", "6"],
        ["Other lookups found something else", "8"],
    ]
    assert lists["not_known"] == [OPEN]


def test_silence_folds_into_one_line() -> None:
    runs = [item(no, at=no * 100, **UNREACHABLE) for no in (5, 6, 7)]
    lists = said(facts(*runs, item(8, at=1_000), item(9, at=1_100, **UNREACHABLE)))
    assert lists["proves_nothing"][1:] == [
        (
            "Baltic did not answer 3 lookups. | From 12:11:04 to 12:14:24; "
            "this says nothing about the outcome | 7"
        ),
        (
            "Baltic did not answer (503). This says nothing about the payout. "
            "| Lookup by key, 12:21:04, 18 min after sending | 9"
        ),
    ]


def test_a_find_that_was_seen_again_is_said_once() -> None:
    lists = said(facts(EXACT, item(9, found(), at=1_150)))
    assert lists["proven"][0].endswith("| 9")
    assert lists["proves_nothing"] == [TIMEOUT]


def test_a_message_may_be_taken_and_not_delivered() -> None:
    case = facts(
        item(6, found(status="sent")),
        contract=message_contract(),
        amount_minor=None,
        currency="XXX",
    )
    assert said(case)["not_known"][0].startswith("Whether it was delivered.")


def test_a_settled_effect_leaves_no_question() -> None:
    assert said(facts(EXACT, state=State.CONFIRMED))["not_known"] == []


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_is_said_and_proves_nothing(cause: Cause) -> None:
    (line,) = said(facts(cause=cause))["proves_nothing"]
    fact, proves, _ = line.split(" | ")
    assert fact.endswith(".")
    assert proves.endswith(".")
    text = summary(facts(cause=cause)).render(clock)
    assert text.startswith("Sent at 12:02:44, ")
    assert text.endswith("Baltic may or may not have carried it out.")


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (facts(), "Sent at 12:02:44, no answer. Baltic may or may not have carried it out."),
        (
            facts(taken_in=True, cause=Cause.TAKEN_IN),
            "Taken in from outside. Baltic may or may not have carried it out.",
        ),
        (facts(state=State.PREPARED), "Written down, not sent."),
        (facts(state=State.DISPATCHED), "Sent at 12:02:44; the answer is awaited."),
        (facts(state=State.CONFIRMED), "It happened."),
        (facts(state=State.REJECTED), "It did not happen."),
    ],
)
def test_a_case_in_one_line(case: CaseFacts, text: str) -> None:
    assert summary(case).render(clock) == text


def test_the_route_is_named_as_people_name_it() -> None:
    lists = said(facts(item(6, found(), route=Route.BY_ATTRIBUTES)))
    assert lists["proven"][0] == (
        "Baltic holds exactly one payout that fits what we sent. "
        "| Lookup by what we sent, 12:21:02, 18 min after sending | 6"
    )
