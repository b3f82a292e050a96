"""The first rule that matches sets the priority, and time alone moves it when it says so."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.findings import HAPPENED, FindingCode
from ledger.rules.priority import Rank, contradicts, rank
from ledger.rules.states import State
from tests.ledger.rules.samples import SENT

HOUR = 3_600


def ranked(
    amount: int | None = 500_00,
    *,
    has_amount: bool = True,
    age: float = 0,
    key_left: float | None = 20 * HOUR,
    finding: FindingCode | None = None,
    state: State = State.UNKNOWN,
    blocks: bool = False,
) -> Rank:
    now = SENT + timedelta(seconds=age)
    key_until = None if key_left is None else now + timedelta(seconds=key_left)
    return rank(
        state=state,
        amount_base_minor=amount,
        has_amount=has_amount,
        since=SENT,
        key_until=key_until,
        finding=finding,
        now=now,
        blocks_workflow=blocks,
    )


@pytest.mark.parametrize(
    ("given_", "priority", "rule"),
    [
        ({"amount": 1_000_00, "key_left": HOUR}, 1, "Key expires in under 1 h, 1,000 or more."),
        ({"amount": 999_99, "key_left": HOUR}, 2, "Key expires in under 8 h."),
        ({"amount": 1_000_00, "key_left": HOUR + 1}, 2, "Key expires in under 8 h."),
        ({"amount": 1_000_00, "key_left": 0}, 3, "Carries money."),
        ({"amount": 25_000_00, "age": 4 * HOUR}, 1, "25,000 or more, over 4 h old."),
        ({"amount": 24_999_99, "age": 4 * HOUR}, 2, "10,000 or more."),
        ({"amount": 25_000_00, "age": 4 * HOUR - 1}, 2, "10,000 or more."),
        ({"amount": 10_000_00}, 2, "10,000 or more."),
        ({"amount": 9_999_99}, 3, "Carries money."),
        ({"amount": None}, 2, "The amount cannot be compared."),
        ({"key_left": 8 * HOUR}, 2, "Key expires in under 8 h."),
        ({"key_left": 8 * HOUR + 1}, 3, "Carries money."),
        ({"key_left": None}, 3, "Carries money."),
        ({"finding": FindingCode.DIFFERS}, 2, "A found object differs."),
        ({"finding": FindingCode.SEVERAL}, 2, "More than one candidate."),
        ({"finding": FindingCode.EXACT}, 3, "Carries money."),
        ({"amount": None, "has_amount": False}, 4, "Nothing presses."),
        ({"amount": None, "has_amount": False, "blocks": True}, 3, "Blocks a workflow."),
        ({"amount": None, "has_amount": False, "key_left": HOUR}, 2, "Key expires in under 8 h."),
        ({"state": State.PREPARED, "amount": 50_000_00}, 4, "In motion, not unknown."),
        ({"state": State.DISPATCHED, "key_left": HOUR}, 4, "In motion, not unknown."),
        ({"state": State.CONFIRMED, "finding": FindingCode.EXACT}, 4, "Settled."),
        (
            {"state": State.REJECTED, "finding": FindingCode.EXACT, "amount": 1},
            1,
            "Evidence contradicts the recorded outcome.",
        ),
        (
            {"state": State.CONFIRMED, "finding": FindingCode.FAILED_OBJECT},
            1,
            "Evidence contradicts the recorded outcome.",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_the_first_matching_rule_sets_the_priority(
    given_: dict[str, object], priority: int, rule: str
) -> None:
    found = ranked(**given_)  # type: ignore[arg-type]
    assert (found.priority, found.rule) == (priority, rule)


@pytest.mark.parametrize(
    ("state", "against"),
    [
        (State.REJECTED, HAPPENED),
        (
            State.CONFIRMED,
            {FindingCode.ABSENT, FindingCode.FAILED_OBJECT, FindingCode.REVERSED},
        ),
        (State.UNKNOWN, set()),
        (State.PREPARED, set()),
    ],
)
def test_which_findings_contradict_a_recorded_outcome(
    state: State, against: set[FindingCode]
) -> None:
    assert {code for code in FindingCode if contradicts(state, code)} == against
    assert not contradicts(state, None)


@pytest.mark.parametrize(
    ("given_", "seconds"),
    [
        ({"key_left": 20 * HOUR}, 12 * HOUR),
        ({"amount": 2_000_00, "key_left": 6 * HOUR}, 5 * HOUR),
        ({"amount": 2_000_00, "key_left": 600}, 600),
        ({"key_left": None}, None),
        ({"amount": 30_000_00, "key_left": None}, 4 * HOUR),
        ({"amount": 30_000_00, "key_left": None, "age": 5 * HOUR}, None),
        ({"state": State.CONFIRMED}, None),
    ],
    ids=str,
)
def test_a_rank_says_when_time_alone_changes_it(
    given_: dict[str, object], seconds: int | None
) -> None:
    found = ranked(**given_)  # type: ignore[arg-type]
    now = SENT + timedelta(seconds=float(given_.get("age", 0)))  # type: ignore[arg-type]
    expected = None if seconds is None else now + timedelta(seconds=seconds)
    assert found.rank_until == expected


@given(
    amount=st.none() | st.integers(0, 40_000_00),
    key=st.none() | st.integers(-HOUR, 30 * HOUR),
    finding=st.none() | st.sampled_from(FindingCode),
    step=st.integers(0, 40 * HOUR),
)
def test_the_priority_stays_until_the_moment_it_names(
    amount: int | None, key: int | None, finding: FindingCode | None, step: int
) -> None:
    def at(now: datetime) -> Rank:
        return rank(
            state=State.UNKNOWN,
            amount_base_minor=amount,
            has_amount=amount is not None,
            since=SENT,
            key_until=None if key is None else SENT + timedelta(seconds=key),
            finding=finding,
            now=now,
        )

    first, later = at(SENT), at(SENT + timedelta(seconds=step))
    if first.rank_until is None or SENT + timedelta(seconds=step) < first.rank_until:
        assert later.priority == first.priority
    if first.rank_until is not None:
        assert at(first.rank_until).priority != first.priority
