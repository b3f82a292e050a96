"""The order of the queue: a priority from 1 to 4 by a rule in words, and when it may change."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.rules.findings import HAPPENED, FindingCode
from ledger.rules.states import TERMINAL, State

# Amounts in the base currency's smallest unit, two decimals.
LARGE_MINOR = 25_000_00
HIGH_MINOR = 10_000_00
CLOSING_MINOR = 1_000_00
CLOSING = timedelta(hours=1)
SOON = timedelta(hours=8)
OLD = timedelta(hours=4)

_AGAINST_CONFIRMED = frozenset(
    {FindingCode.ABSENT, FindingCode.FAILED_OBJECT, FindingCode.REVERSED}
)


@dataclass(frozen=True, slots=True)
class Rank:
    """Priority 1 (first) to 4, the rule that set it, and from when it may be another."""

    priority: int
    rule: str
    rank_until: datetime | None


@dataclass(frozen=True, slots=True)
class _Case:
    state: State
    amount: int | None
    has_amount: bool
    since: datetime
    key_until: datetime | None
    finding: FindingCode | None
    blocks_workflow: bool

    def key_closes_within(self, length: timedelta, now: datetime) -> bool:
        return self.key_until is not None and now < self.key_until <= now + length

    def at_least(self, minor: int) -> bool:
        return self.amount is not None and self.amount >= minor


def rank(
    *,
    state: State,
    amount_base_minor: int | None,
    has_amount: bool,
    since: datetime,
    key_until: datetime | None,
    finding: FindingCode | None,
    now: datetime,
    blocks_workflow: bool = False,
) -> Rank:
    """The first rule that matches at `now`. `amount_base_minor` is None where no rate is known.

    `since` is when the effect became unknown, `finding` the newest one, if any.
    """
    case = _Case(state, amount_base_minor, has_amount, since, key_until, finding, blocks_workflow)
    priority, rule = _first_rule(case, now)
    changes = (t for t in _turning_points(case) if t > now and _first_rule(case, t)[0] != priority)
    return Rank(priority, rule, min(changes, default=None))


def contradicts(state: State, finding: FindingCode | None) -> bool:
    """Whether a finding speaks against the outcome that is already recorded."""
    if state is State.REJECTED:
        return finding in HAPPENED
    return state in (State.CONFIRMED, State.COMPENSATED) and finding in _AGAINST_CONFIRMED


def _first_rule(case: _Case, now: datetime) -> tuple[int, str]:
    closing = case.key_closes_within(CLOSING, now)
    rules = (
        (1, contradicts(case.state, case.finding), "Evidence contradicts the recorded outcome."),
        (4, case.state in TERMINAL, "Settled."),
        (4, case.state is not State.UNKNOWN, "In motion, not unknown."),
        (1, closing and case.at_least(CLOSING_MINOR), "Key expires in under 1 h, 1,000 or more."),
        (
            1,
            case.at_least(LARGE_MINOR) and now - case.since >= OLD,
            "25,000 or more, over 4 h old.",
        ),
        (2, case.has_amount and case.amount is None, "The amount cannot be compared."),
        (2, case.at_least(HIGH_MINOR), "10,000 or more."),
        (2, case.key_closes_within(SOON, now), "Key expires in under 8 h."),
        (2, case.finding is FindingCode.DIFFERS, "A found object differs."),
        (2, case.finding is FindingCode.SEVERAL, "More than one candidate."),
        (3, case.has_amount, "Carries money."),
        (3, case.blocks_workflow, "Blocks a workflow."),
    )
    return next(
        ((number, words) for number, holds, words in rules if holds), (4, "Nothing presses.")
    )


def _turning_points(case: _Case) -> tuple[datetime, ...]:
    """The moments at which time alone can change the rule that matches."""
    if case.key_until is None:
        return (case.since + OLD,)
    return (case.since + OLD, case.key_until - SOON, case.key_until - CLOSING, case.key_until)
