"""Entries without a change of state, and the records of what belongs to no effect."""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections

from ledger.access import Acting
from ledger.ids import new_id
from ledger.rules.digest import canonical
from ledger.sql import row

NIL = UUID(int=0)
HAND = "row(%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)::effect_hand"


@dataclass(frozen=True, slots=True)
class Hand:
    """The arguments of the entry in hand, in the order of the SQL type `effect_hand`.

    `body` is canonical JSON bytes; `refs` are `kind:value`; `brief` says a finding in a few words,
    for the queue; `about` is the number of the attempt that evidence speaks of. A later `due_at`,
    `counts_from`, `priority`, `rank_until` or `rank_minor` of None leaves the queue row's value.
    """

    kind: str
    actor: str
    resolution_id: UUID | None = None
    lookup_id: UUID | None = None
    note: str | None = None
    body: bytes | None = None
    finding: str | None = None
    object_id: str | None = None
    refs: list[str] | None = None
    due_at: datetime | None = None
    counts_from: datetime | None = None
    priority: int | None = None
    rank_until: datetime | None = None
    rank_minor: int | None = None
    brief: str | None = None
    about: int | None = None

    def params(self) -> tuple[Any, ...]:
        """The values for the placeholders of `HAND`."""
        return astuple(self)


def body(value: Mapping[str, Any]) -> bytes:
    """`value` as canonical JSON bytes. Raises BadJson for what the strict form refuses."""
    return canonical(json.loads(json.dumps(value, default=str)))


def file(tenant_id: UUID, effect_id: UUID, hand: Hand) -> int | None:
    """File an entry that changes no state; its number, or None where there is no such effect."""
    found = row(
        f"update effect set hand = {HAND} where tenant_id = %s and effect_id = %s returning"
        " version",
        (*hand.params(), tenant_id, effect_id),
    )
    return found[0] if found else None


def record(
    kind: str,
    *,
    tenant_id: UUID | None,
    by: Acting | None,
    object_type: str | None = None,
    object_id: str | None = None,
    facts: Mapping[str, Any],
    using: str = DEFAULT_DB_ALIAS,
) -> UUID:
    """File a record and return its id. `facts` carries ids and codes, never names or bodies."""
    record_id = new_id()
    row(
        "insert into record (tenant_id, record_id, kind, person_id, account_id, object_type,"
        " object_id, body) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            tenant_id or NIL,
            record_id,
            kind,
            by.person_id if by else None,
            by.account_id if by else None,
            object_type,
            object_id,
            canonical(dict(facts)).decode(),
        ),
        using=using,
    )
    return record_id


def contradiction(tenant_id: UUID, effect_id: UUID, *, no: int, finding: str) -> None:
    """File that entry `no` speaks for an effect whose rejection is recorded."""
    record(
        "contradiction",
        tenant_id=tenant_id,
        by=None,
        object_type="effect",
        object_id=str(effect_id),
        facts={"entry": no, "finding": finding},
    )


def refused(kind: str, *, tenant_id: UUID, object_id: str, facts: Mapping[str, Any]) -> None:
    """File a refusal that must survive the caller's rollback, over a connection of its own.

    Outside a transaction the default connection serves.
    """
    using = DEFAULT_DB_ALIAS
    if connection.in_atomic_block and "apart" in connections:
        using = "apart"
        row("select set_config('ascertain.tenant', %s, false)", (str(tenant_id),), using=using)
    record(
        kind,
        tenant_id=tenant_id,
        by=None,
        object_type="effect",
        object_id=object_id,
        facts=facts,
        using=using,
    )
