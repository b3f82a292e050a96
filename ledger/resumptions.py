"""WORKFLOW: the news that a workflow may go on, due until acknowledged once."""

from dataclasses import dataclass
from uuid import UUID

from ledger import contracts
from ledger.rules.contract import After
from ledger.rules.states import RejectKind, State
from ledger.sql import Row, row, rows

# What may follow a rejection that names no code: after a refusal without one, nothing is known.
_AFTER = {
    RejectKind.ABSENCE_PROVEN.value: After.NEW_VERSION.value,
    RejectKind.NOT_DISPATCHED.value: After.NEW_VERSION.value,
}


@dataclass(frozen=True, slots=True)
class Resumption:
    """How an effect ended. `receipt` proves a confirmed one; `code` and `after` tell of a refusal.

    `after` is `same_key`, `new_version` or `never`: what the contract lets follow.
    """

    tenant_id: UUID
    effect_id: UUID
    no: int
    workflow_id: str
    step_id: str | None
    intent_key: str
    state: State
    receipt: str | None
    reject_kind: str | None
    code: str | None
    after: str | None


def due(tenant_id: UUID, *, limit: int = 100) -> list[Resumption]:
    """The endings nobody has acknowledged, oldest first."""
    found = rows(
        "select r.effect_id, r.no, r.workflow_id, r.step_id, e.intent_key, r.state,"
        " e.provider_result_id, e.reject_kind, e.declined_code, e.provider, e.operation,"
        " e.contract_version from resumption r join effect e using (tenant_id, effect_id)"
        " where r.tenant_id = %s and r.acknowledged_at is null order by r.created_at limit %s",
        (tenant_id, limit),
    )
    return [_resumption(tenant_id, columns) for columns in found]


def _resumption(tenant_id: UUID, columns: Row) -> Resumption:
    effect_id, no, workflow_id, step_id, key, state, receipt, kind, code, *named = columns
    refusal = contracts.load(*named).refusal(code) if code else None
    return Resumption(
        tenant_id=tenant_id,
        effect_id=effect_id,
        no=no,
        workflow_id=workflow_id,
        step_id=step_id,
        intent_key=key,
        state=State(state),
        receipt=receipt if state == State.CONFIRMED else None,
        reject_kind=kind,
        code=code,
        after=refusal.after.value if refusal else _AFTER.get(kind or ""),
    )


def acknowledge(resumption: Resumption) -> bool:
    """Mark the ending as heard, in the caller's own transaction; False where it was already."""
    found = row(
        "update resumption set acknowledged_at = now() where tenant_id = %s and effect_id = %s"
        " and no = %s and acknowledged_at is null returning no",
        (resumption.tenant_id, resumption.effect_id, resumption.no),
    )
    return found is not None
