"""From which amount a decision takes a second and a third person; the strictest when unsure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ledger.rules.cases import Decision

STRICTEST = 3


@dataclass(frozen=True, slots=True)
class Tier:
    """Amounts in smallest units from which a second and a third person decide; None means never."""

    second_from: int | None
    third_from: int | None


_SECOND_FROM = {
    "USD": 1_000_00,
    "EUR": 1_000_00,
    "GBP": 1_000_00,
    "CAD": 1_000_00,
    "AUD": 1_000_00,
    "CHF": 1_000_00,
    "NOK": 10_000_00,
    "JPY": 150_000,
    "KWD": 300_000,
    "BHD": 400_000,
    "KES": 150_000_00,
    "INR": 80_000_00,
    "HUF": 400_000_00,
}
_THIRD_AT_TIMES = 25

DEFAULT_TIERS: Mapping[str, Tier] = MappingProxyType(
    {code: Tier(minor, minor * _THIRD_AT_TIMES) for code, minor in _SECOND_FROM.items()}
    | {"XXX": Tier(None, None)}
)

MINIMUM_PEOPLE: Mapping[Decision, int] = MappingProxyType(
    {
        Decision.ACCEPT: 1,
        Decision.ACCEPT_WITH_DIFFERENCE: 2,
        Decision.ACCEPT_ONE_OF_SEVERAL: 2,
        Decision.REJECT: 1,
        Decision.REDISPATCH: 1,
        Decision.COMPENSATE: 2,
        Decision.REOPEN: 2,
        Decision.ESCALATE: 1,
        Decision.LOOK_UP: 1,
    }
)

# They settle nothing, so no amount makes them take a second person.
_FREE_OF_TIERS = frozenset({Decision.ESCALATE, Decision.LOOK_UP})


def people_required(
    decision: Decision,
    currency: str | None,
    amount_minor: int | None,
    *,
    tiers: Mapping[str, Tier],
) -> int:
    """How many different persons `decision` takes, 1 to 3; a tier includes its own boundary.

    A currency the policy does not name, and an amount that is missing or below zero where the
    currency has a tier, take three.
    """
    minimum = MINIMUM_PEOPLE[decision]
    if decision in _FREE_OF_TIERS:
        return minimum
    return max(minimum, _by_tier(tiers.get(currency or ""), amount_minor))


def _by_tier(tier: Tier | None, amount_minor: int | None) -> int:
    if tier is None:
        return STRICTEST
    if tier.second_from is None and tier.third_from is None:
        return 1
    if amount_minor is None or amount_minor < 0:
        return STRICTEST
    if tier.third_from is not None and amount_minor >= tier.third_from:
        return STRICTEST
    return 2 if tier.second_from is not None and amount_minor >= tier.second_from else 1
