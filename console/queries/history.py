"""All effects of a tenant, newest first, a bounded stretch at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger.ids import from_screen_id
from ledger.sql import rows

PAGE = 50
STRETCH = 1_000  # `state` stands in no index, so a filtered page reads so many effects at most

STATES: Mapping[str, int] = {
    "prepared": 1,
    "dispatched": 2,
    "unknown": 3,
    "confirmed": 4,
    "rejected": 5,
    "compensated": 6,
}
TERMINAL = ("confirmed", "rejected", "compensated")

_COLUMNS = (
    "e.effect_id, e.state, e.intent_key, e.operation, e.provider, e.recipient_label,"
    " e.amount_minor, e.currency, e.created_at, e.completed_at, e.provider_result_id,"
    " e.reject_kind, e.declined_code, e.attempts, e.cause"
)


@dataclass(frozen=True, slots=True)
class Past:
    """One effect in the list of all."""

    effect_id: UUID
    state: int
    intent_key: str
    operation: str
    provider: str
    recipient_label: str | None
    amount_minor: int | None
    currency: str
    created_at: datetime
    completed_at: datetime | None
    provider_result_id: str | None
    reject_kind: str | None
    declined_code: str | None
    attempts: int
    cause: str | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A page of effects; `older` is the id to go on from, None at the end of the record."""

    rows: tuple[Past, ...]
    older: UUID | None
    looked_at: int


def page(
    tenant_id: UUID, *, states: tuple[str, ...], provider: str | None, older_than: str | None
) -> Stretch:
    """The newest 50 effects in these states below an id, among the next 1,000 of the tenant."""
    below = from_screen_id(older_than) if older_than else None
    params: list[Any] = [tenant_id]
    start = ""
    if below is not None:
        start = " and effect_id < %s"
        params.append(below)
    numbers = [STATES[name] for name in states] or list(STATES.values())
    params += [numbers, provider, provider, PAGE + 1]
    found = rows(
        f"with stretch as materialized (select * from effect where tenant_id = %s{start}"
        f" order by effect_id desc limit {STRETCH}),"
        " edge as (select count(*) as looked_at,"
        "  (array_agg(effect_id order by effect_id))[1] as last from stretch)"
        f" select edge.looked_at, edge.last, {_COLUMNS} from edge left join lateral ("
        " select * from stretch s where s.state = any(%s) and (%s::text is null or s.provider = %s)"
        " order by s.effect_id desc limit %s) e on true order by e.effect_id desc",
        params,
    )
    looked_at, last = found[0][:2]
    matching = [Past(*values[2:]) for values in found if values[2] is not None]
    return Stretch(tuple(matching[:PAGE]), _older(matching, looked_at, last), looked_at)


def _older(matching: list[Past], looked_at: int, last: UUID | None) -> UUID | None:
    """Where the next page begins: behind the last row shown, or behind the stretch."""
    if len(matching) > PAGE:
        return matching[PAGE - 1].effect_id
    return last if looked_at == STRETCH else None
