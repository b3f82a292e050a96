"""What an unknown effect's queue row says next: when to look, its priority, its order."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ledger import contracts
from ledger.rules import absence, money, priority
from ledger.rules.contract import Contract, IntentView
from ledger.rules.findings import Finding, FindingCode
from ledger.rules.states import State


@dataclass(frozen=True, slots=True)
class Agenda:
    """The queue row's next values, as keyword arguments of a Hand."""

    due_at: datetime | None
    counts_from: datetime | None
    priority: int
    rank_until: datetime | None
    rank_minor: int

    def kwargs(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def ranked(
    view: IntentView,
    contract: Contract,
    *,
    tenant_id: UUID,
    now: datetime,
    due_at: datetime | None,
    finding: FindingCode | None,
) -> Agenda:
    """The agenda of an unknown effect as known at `now`; `due_at` is its next look."""
    base = (
        money.base_minor(view.amount_minor, view.currency, contracts.base_currency(tenant_id))
        if view.amount_minor is not None and view.currency is not None
        else None
    )
    rank = priority.rank(
        state=State.UNKNOWN,
        amount_base_minor=base,
        has_amount=contract.has_amount,
        since=view.last_dispatch_at or now,
        key_until=_key_until(view, contract),
        finding=finding,
        now=now,
    )
    terms = next((t for t in contract.routes if t.proves_absence), None)
    counts_from = (
        absence.counts_from(view, contract, terms) if terms and view.last_dispatch_at else None
    )
    return Agenda(
        due_at=due_at,
        counts_from=counts_from,
        priority=rank.priority,
        rank_until=rank.rank_until,
        rank_minor=-(base or 0),
    )


def _key_until(view: IntentView, contract: Contract) -> datetime | None:
    """The effect's own key window. What was taken in has none: no fence, so never sent from here.

    Its source may name a key, but nothing says when the provider first saw that one.
    """
    return absence.key_until(view.first_dispatch_at, contract) if view.fence else None


def first_look_at(view: IntentView, contract: Contract, *, now: datetime) -> datetime:
    """When an effect that just became unknown is looked up: at its settle time, not before.

    One whose sending has no known time is looked up at once: waiting would never end.
    """
    if view.last_dispatch_at is None:
        return now
    return max(now, view.last_dispatch_at + timedelta(seconds=contract.settle_seconds))


_WAITS_FOR_A_PERSON = frozenset(
    {
        FindingCode.EXACT,
        FindingCode.DIFFERS,
        FindingCode.SEVERAL,
        FindingCode.FAILED_OBJECT,
        FindingCode.REVERSED,
        FindingCode.ABSENT,
    }
)
_DAY = timedelta(days=1)


def closing_at(view: IntentView, contract: Contract) -> datetime | None:
    """When the key window is about to close: max(1 h, 10 %) before its end; None without a key."""
    end = _key_until(view, contract)
    if end is None or contract.key_window_seconds is None:
        return None
    return end - timedelta(seconds=max(3600, contract.key_window_seconds // 10))


def next_due_at(
    view: IntentView, contract: Contract, finding: Finding, *, looks: int, now: datetime
) -> datetime:
    """When the sweep takes up the effect again, after its look number `looks`.

    A finding that waits for a person is read again in a day; other findings follow the contract's
    schedule, but not before an absence can count. A closing key window comes first.
    """
    if finding.code in _WAITS_FOR_A_PERSON or looks >= len(contract.schedule_seconds):
        planned = now + _DAY if finding.code in _WAITS_FOR_A_PERSON else now
    else:
        planned = now + timedelta(seconds=contract.schedule_seconds[looks])
        if finding.look_again_at is not None:
            planned = max(now, min(planned, finding.look_again_at))
    closing = closing_at(view, contract)
    return min(planned, closing) if closing is not None and closing > now else planned


def exhausted(contract: Contract, *, looks: int) -> bool:
    """Whether the contract plans no further look."""
    return looks >= len(contract.schedule_seconds)
