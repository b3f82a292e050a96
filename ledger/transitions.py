"""Birth and step: the one place where an effect's state changes, each a single statement."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from ledger.audit import HAND, Hand
from ledger.rules.states import State
from ledger.sql import Row, row

_TYPES = {
    "tenant_id": "uuid",
    "effect_id": "uuid",
    "request_digest": "bytea",
    "digest_version": "smallint",
    "amount_minor": "bigint",
    "exponent": "smallint",
    "provider_key": "uuid",
    "initiator_id": "uuid",
    "first_attempt_at": "timestamptz",
}
_SAME_OBJECT = """select o.effect_id from effect_open o where o.tenant_id = %s
  and o.object_type = %s and o.object_ref = %s and o.operation = %s
  and o.intent_key <> %s and o.state in (2, 3) order by o.state desc limit 1"""


@dataclass(frozen=True, slots=True)
class Born:
    """A birth that took place; `neighbour` is an open effect for the same object, if any."""

    effect_id: UUID
    neighbour: UUID | None


@cache
def _birth(columns: tuple[str, ...], blocks: bool) -> str:
    marks = ", ".join(f"%s::{_TYPES.get(name, 'text')}" for name in columns)
    unless = " where not exists (select from neighbour)" if blocks else ""
    return (
        f"with neighbour as ({_SAME_OBJECT}),"
        f" born as (insert into effect ({', '.join(columns)}, hand) select {marks}, {HAND}{unless}"
        " on conflict (tenant_id, intent_key) do nothing returning tenant_id, effect_id),"
        " kept as (insert into payload (tenant_id, effect_id, no, salt, body)"
        " select tenant_id, effect_id, 1, ''::bytea, %s::bytea from born)"
        " select effect_id, (select effect_id from neighbour) from born"
    )


def birth(values: Mapping[str, Any], *, hand: Hand, request: bytes, blocks: bool) -> Born | None:
    """Write the intent and its request; None where the key exists or `blocks` met a neighbour.

    `values` are columns of `effect`; `request` the canonical bytes whose SHA-256 is the digest.
    """
    columns = tuple(values)
    same = ("tenant_id", "object_type", "object_ref", "operation", "intent_key")
    params = (*(values[name] for name in same), *values.values(), *hand.params(), request)
    found = row(_birth(columns, blocks), params)
    return Born(effect_id=found[0], neighbour=found[1]) if found else None


@cache
def _step(columns: tuple[str, ...], claims: bool, fenced: bool, returning: str) -> str:
    sets = "".join(f", {name} = %s" for name in columns)
    lease = ", lease_until = now() + make_interval(secs => lease_seconds)" if claims else ""
    fence = " and fence = %s" if fenced else ""
    return (
        f"update effect set state = %s, hand = {HAND}{sets}{lease}"
        f" where tenant_id = %s and effect_id = %s and state = %s{fence}"
        f" returning version, fence{returning}"
    )


def step(
    tenant_id: UUID,
    effect_id: UUID,
    *,
    source: State,
    target: State,
    hand: Hand,
    sets: Mapping[str, Any] | None = None,
    fence: int | None = None,
    returning: str = "",
) -> Row | None:
    """Move the effect from `source` to `target` if it still stands there, else None.

    With `fence` only the claim of that number may move it. `sets` are result columns. The row
    returned is (entry number, fence, and the columns named in `returning`).
    """
    sets = sets or {}
    params = [int(target), *hand.params(), *sets.values(), tenant_id, effect_id, int(source)]
    if fence is not None:
        params.append(fence)
    claims = target is State.DISPATCHED
    return row(_step(tuple(sets), claims, fence is not None, returning), params)
