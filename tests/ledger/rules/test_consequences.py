"""What follows is said before: record, what runs, what is sent, money, undoing, who must agree."""

import pytest

from ledger.rules.cases import CaseFacts, Decision
from ledger.rules.consequences import consequences, second_person
from ledger.rules.contract import Route
from ledger.rules.decisions import option
from tests.ledger.rules.samples import (
    ABSENT,
    EXACT,
    GONE,
    SHORT,
    TWO,
    clock,
    facts,
    found,
    item,
    message_contract,
)


def said(decision: str, case: CaseFacts) -> list[str]:
    chosen = option(Decision(decision), case)
    return [words.render(clock) for words in consequences(chosen, case)]


def people(count: int) -> dict[Decision, int]:
    return dict.fromkeys(Decision, count)


def test_accepting_alone_says_that_it_is_final() -> None:
    assert said("accept", facts(EXACT)) == [
        "The ledger records Reconciled with po_9F4C81D07Q2K.",
        "Workflow wf_settle_20418 goes on from step 4.",
        "Nothing is sent to Baltic.",
        "No money moves.",
        "Final once recorded. This version neither undoes nor reopens it.",
        "Nobody else must agree.",
    ]


def test_a_retry_names_what_leaves_and_until_when() -> None:
    assert said("redispatch", facts(ABSENT)) == [
        "The ledger records Safe to retry: the same key may be sent once more.",
        "A worker sends it soon; workflow wf_settle_20418 waits on.",
        "The same request goes to Baltic again, before 09:38:44.",
        "12,000.00 EUR may move, once.",
        "Once a worker has sent it, it cannot be taken back.",
        "Nobody else must agree.",
    ]


@pytest.mark.parametrize(
    ("evidence", "record"),
    [
        (ABSENT, "The ledger records Rejected: nothing exists at the provider."),
        (GONE, "The ledger records Rejected: the provider did not carry it out."),
    ],
    ids=["absent", "failed"],
)
def test_the_kinds_of_rejection_are_told_apart(evidence: object, record: str) -> None:
    lines = said("reject", facts(evidence))  # type: ignore[arg-type]
    assert lines[:2] == [
        record,
        "Workflow wf_settle_20418 is told at step 4 that nothing happened.",
    ]


@pytest.mark.parametrize(
    ("decision", "case", "who"),
    [
        (
            "accept",
            facts(EXACT, people_required=people(2), second_from_minor=1_000_000),
            "Needs another person, since 12,000.00 EUR is at or above 10,000.00 EUR.",
        ),
        (
            "accept",
            facts(EXACT, people_required=people(3), second_from_minor=1_200_000),
            "Needs two other persons, since 12,000.00 EUR is at or above 12,000.00 EUR.",
        ),
        (
            "accept",
            facts(EXACT, people_required=people(2), second_from_minor=1_200_001),
            "Needs another person, since the policy says so.",
        ),
        (
            "accept",
            facts(EXACT, people_required=people(3), amount_minor=None),
            "Needs two other persons, since the amount is not known here.",
        ),
        (
            "accept_with_difference",
            facts(SHORT, people_required=people(2)),
            "Needs another person, since a difference is never accepted alone.",
        ),
        (
            "accept_one_of_several",
            facts(TWO, people_required=people(2)),
            "Needs another person, since a choice between candidates is never made alone.",
        ),
        (
            "accept",
            facts(item(6, found(reference=None), route=Route.BY_ATTRIBUTES)),
            "Needs another person, since it only fits what was sent, nothing on it names our key.",
        ),
        (
            "accept",
            facts(
                item(6, found(reference=None), route=Route.BY_ATTRIBUTES),
                contract=message_contract(),
                amount_minor=None,
                currency="XXX",
            ),
            "Needs another person, since it only fits what was sent, nothing on it names our key.",
        ),
        (
            "reject",
            facts(ABSENT, taken_in=True, second_from_minor=1_200_001),
            "Needs another person, since its key or request id is what the source file claims.",
        ),
        (
            "accept",
            facts(EXACT, people_required={}, currency="NOK"),
            "Needs two other persons, since the policy has no threshold for NOK.",
        ),
        ("escalate", facts(), "Nobody else must agree."),
    ],
)
def test_who_else_must_agree_and_why(decision: str, case: CaseFacts, who: str) -> None:
    assert said(decision, case)[-1] == who


def test_an_effect_without_an_amount_says_nothing_of_money() -> None:
    case = facts(EXACT, contract=message_contract(), amount_minor=None, currency="XXX")
    assert not any("oney" in line for line in said("accept", case))


def test_without_a_workflow_none_is_named() -> None:
    assert said("accept", facts(EXACT, workflow=None))[1] == "No workflow waits for this."


def test_what_is_not_offered_has_no_consequences() -> None:
    assert said("compensate", facts()) == said("reopen", facts()) == []


def test_who_cannot_decide_alone_is_told_why_and_what_to_do() -> None:
    likeness = facts(item(6, found(reference=None), route=Route.BY_ATTRIBUTES))
    assert second_person(option(Decision.ACCEPT, likeness), likeness) == (
        "It only fits what was sent, nothing on it names our key, so a second person must agree. "
        "Nobody can decide this alone; escalate it instead."
    )
    assert second_person(option(Decision.ACCEPT, facts(EXACT)), facts(EXACT)) == ""
