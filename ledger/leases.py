"""Leases and due work: which open effects somebody must act on now, by the database's clock."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.rules.states import State
from ledger.sql import row, rows


@dataclass(frozen=True, slots=True)
class Due:
    """An open effect whose hour has come."""

    tenant_id: UUID
    effect_id: UUID
    state: State
    intent_key: str


def expired(limit: int) -> list[tuple[UUID, UUID]]:
    """Up to `limit` dispatched effects whose lease has run out, as (tenant, effect)."""
    found = rows(
        "select e.tenant_id, e.effect_id from effect_open o"
        " join effect e using (tenant_id, effect_id)"
        " where o.due_at <= now() and e.state = 2 and e.lease_until < now()"
        " order by o.due_at limit %s",
        (limit,),
    )
    return [(tenant_id, effect_id) for tenant_id, effect_id in found]


def take_due(limit: int, *, again_seconds: int) -> list[Due]:
    """Up to `limit` prepared or unknown effects that are due, each put off by `again_seconds`.

    Putting them off keeps a second sweep from ringing the same bell; the row stays the job, so a
    lost message only costs that delay.
    """
    found = rows(
        "update effect_open o set due_at = now() + make_interval(secs => %s)"
        " from (select tenant_id, effect_id from effect_open"
        "   where due_at <= now() and state in (1, 3)"
        "   order by due_at limit %s for update skip locked) d"
        " where o.tenant_id = d.tenant_id and o.effect_id = d.effect_id"
        " returning o.tenant_id, o.effect_id, o.state, o.intent_key",
        (again_seconds, limit),
    )
    return [Due(tenant, effect, State(state), key) for tenant, effect, state, key in found]


def put_off(tenant_id: UUID, effect_id: UUID, *, until: datetime) -> None:
    """Let the sweep take the open effect up again at `until`."""
    row(
        "update effect_open set due_at = %s where tenant_id = %s and effect_id = %s",
        (until, tenant_id, effect_id),
    )


def outranked(limit: int) -> list[tuple[UUID, UUID]]:
    """Unknown effects whose priority may have changed with time, as (tenant, effect)."""
    found = rows(
        "select tenant_id, effect_id from effect_open where state = 3 and rank_until <= now()"
        " order by rank_until limit %s",
        (limit,),
    )
    return [(tenant_id, effect_id) for tenant_id, effect_id in found]


def rerank(tenant_id: UUID, effect_id: UUID, *, priority: int, rank_until: datetime | None) -> None:
    """Set the open effect's place in the queue."""
    row(
        "update effect_open set priority = %s, rank_until = %s"
        " where tenant_id = %s and effect_id = %s and state = 3",
        (priority, rank_until, tenant_id, effect_id),
    )
