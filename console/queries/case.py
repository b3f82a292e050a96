"""What stands beside a case: its workflow's other effects, its likenesses, and who was named."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ledger.sql import rows

NEAREST = 400  # on either side: likenesses are looked for among so many effects by age
WITHIN = timedelta(days=7)
MOST_SHOWN = 8

_COLUMNS = (
    "n.effect_id, n.intent_key, n.state, n.created_at, n.amount_minor, n.currency, n.operation,"
    " n.recipient_label, n.object_type, n.object_ref, n.step_id"
)

# Ids are ordered by time, so the key's own index gives the nearest in time on both sides.
_NEAR = f"""
  with near as (
    (select * from effect where tenant_id = %(tenant)s and effect_id < %(effect)s
      order by effect_id desc limit %(nearest)s)
    union all
    (select * from effect where tenant_id = %(tenant)s and effect_id > %(effect)s
      order by effect_id limit %(nearest)s))
  select {_COLUMNS}, n.object_ref = %(object_ref)s and n.object_type = %(object_type)s,
    n.recipient_token = %(recipient)s,
    n.amount_minor = %(amount)s and n.currency = %(currency)s
  from near n
  where n.created_at between %(earliest)s and %(latest)s and (
    n.object_ref = %(object_ref)s and n.object_type = %(object_type)s
    or n.recipient_token = %(recipient)s
    or n.amount_minor = %(amount)s and n.currency = %(currency)s)
  order by (n.object_ref = %(object_ref)s) desc nulls last,
    (n.recipient_token = %(recipient)s) desc nulls last, n.effect_id desc
  limit %(shown)s"""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An effect that is like another one, or belongs to the same workflow."""

    effect_id: UUID
    intent_key: str
    state: int
    created_at: datetime
    amount_minor: int | None
    currency: str
    operation: str
    recipient_label: str | None
    object_type: str | None
    object_ref: str | None
    step_id: str | None
    same_object: bool = False
    same_recipient: bool = False
    same_amount: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """What is compared when looking for an effect's neighbours."""

    created_at: datetime
    object_type: str | None
    object_ref: str | None
    recipient_token: str | None
    amount_minor: int | None
    currency: str


def neighbours(tenant_id: UUID, *, effect_id: UUID, like: Likeness) -> tuple[Neighbour, ...]:
    """At most 8 effects with the same object, recipient or amount within 7 days, nearest by age."""
    params: Any = {
        "tenant": tenant_id,
        "effect": effect_id,
        "object_ref": like.object_ref,
        "object_type": like.object_type,
        "recipient": like.recipient_token,
        "amount": like.amount_minor,
        "currency": like.currency,
        "earliest": like.created_at - WITHIN,
        "latest": like.created_at + WITHIN,
        "nearest": NEAREST,
        "shown": MOST_SHOWN,
    }
    found = rows(_NEAR, params)
    return tuple(Neighbour(*n[:11], *(bool(flag) for flag in n[11:])) for n in found)


def of_workflow(tenant_id: UUID, *, workflow_id: str | None) -> tuple[Neighbour, ...]:
    """At most 20 effects of a workflow, oldest first; none without one."""
    if workflow_id is None:
        return ()
    found = rows(
        f"select {_COLUMNS} from effect n where n.tenant_id = %s and n.workflow_id = %s"
        " order by n.effect_id limit 20",
        (tenant_id, workflow_id),
    )
    return tuple(Neighbour(*values) for values in found)


@dataclass(frozen=True, slots=True)
class Told:
    """The news of an outcome to the workflow, and when it was acknowledged."""

    created_at: datetime
    acknowledged_at: datetime | None


def resumptions(tenant_id: UUID, *, effect_id: UUID) -> tuple[Told, ...]:
    """When the workflow was told of each outcome, oldest first."""
    found = rows(
        "select created_at, acknowledged_at from resumption where tenant_id = %s and effect_id = %s"
        " order by no",
        (tenant_id, effect_id),
    )
    return tuple(Told(*values) for values in found)
