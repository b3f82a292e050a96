"""Tiers include their own boundary; what the policy does not know takes three persons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.decisions import Decision
from ledger.rules.policy import DEFAULT_TIERS, MINIMUM_PEOPLE, Tier, people_required

TIERS = {"EUR": Tier(100_000, 2_500_000), "XXX": Tier(None, None), "SEK": Tier(5, None)}


@pytest.mark.parametrize(
    ("decision", "currency", "amount", "people"),
    [
        ("accept", "EUR", 0, 1),
        ("accept", "EUR", 99_999, 1),
        ("accept", "EUR", 100_000, 2),
        ("accept", "EUR", 100_001, 2),
        ("accept", "EUR", 2_499_999, 2),
        ("accept", "EUR", 2_500_000, 3),
        ("reject", "EUR", 99_999, 1),
        ("reject", "EUR", 100_000, 2),
        ("redispatch", "EUR", 99_999, 1),
        ("redispatch", "EUR", 2_500_000, 3),
        ("accept_with_difference", "EUR", 1, 2),
        ("accept_with_difference", "EUR", 2_500_000, 3),
        ("accept_one_of_several", "EUR", 1, 2),
        ("compensate", "EUR", 1, 2),
        ("reopen", "EUR", 1, 2),
        ("escalate", "EUR", 2_500_000, 1),
        ("look_up", None, None, 1),
        ("accept", "EUR", None, 3),
        ("accept", "EUR", -1, 3),
        ("accept", "QQQ", 1, 3),
        ("accept", "eur", 1, 3),
        ("accept", None, 1, 3),
        ("accept", "XXX", None, 1),
        ("accept", "XXX", 0, 1),
        ("accept_with_difference", "XXX", None, 2),
        ("accept", "SEK", 5, 2),
        ("accept", "SEK", 10**15, 2),
        ("accept", "SEK", None, 3),
    ],
)
def test_the_tier_says_how_many_people_decide(
    decision: str, currency: str | None, amount: int | None, people: int
) -> None:
    assert people_required(Decision(decision), currency, amount, tiers=TIERS) == people


def test_an_empty_policy_takes_three_for_everything_that_settles() -> None:
    settling = set(Decision) - {Decision.ESCALATE, Decision.LOOK_UP}
    assert {people_required(decision, "EUR", 1, tiers={}) for decision in settling} == {3}


@given(
    st.sampled_from(Decision), st.sampled_from(sorted(DEFAULT_TIERS)), st.integers(0, 10**15 - 1)
)
def test_a_larger_amount_never_takes_fewer_people(
    decision: Decision, currency: str, amount: int
) -> None:
    fewer = people_required(decision, currency, amount, tiers=DEFAULT_TIERS)
    more = people_required(decision, currency, amount + 1, tiers=DEFAULT_TIERS)
    assert MINIMUM_PEOPLE[decision] <= fewer <= more <= 3


def test_every_decision_has_a_minimum() -> None:
    assert set(MINIMUM_PEOPLE) == set(Decision)


@pytest.mark.parametrize(
    ("currency", "second_from"),
    [("USD", 100_000), ("JPY", 150_000), ("KWD", 300_000), ("NOK", 1_000_000), ("HUF", 40_000_000)],
)
def test_default_tiers_are_the_public_ones(currency: str, second_from: int) -> None:
    assert DEFAULT_TIERS[currency] == Tier(second_from, second_from * 25)


def test_messages_have_no_tier_by_default() -> None:
    assert DEFAULT_TIERS["XXX"] == Tier(None, None)
