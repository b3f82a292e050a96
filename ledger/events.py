"""PROVIDER: the one place where what a provider reports may settle an effect by itself."""

from dataclasses import replace

from ledger import clock, transitions
from ledger.audit import Hand
from ledger.facts import Case
from ledger.rules.contract import Look, Route
from ledger.rules.findings import Finding, FindingCode
from ledger.rules.states import RejectKind, State
from ledger.sql import row

_SETTLES = frozenset({FindingCode.EXACT, FindingCode.FAILED_OBJECT})


def judge(case: Case, finding: Finding, *, look: Look, hand: Hand) -> int | None:
    """Settle `case` on a scheduled lookup's finding where its policy allows; the entry's number.

    None means that nothing may settle by itself here. Only one object that agrees in every compared
    field, up to the ceiling, confirms; only an explicit failed object rejects; absence never does.
    """
    if finding.code not in _SETTLES or finding.route is Route.BY_ATTRIBUTES:
        return None
    if not _allowed(case):
        return None
    settled = replace(hand, kind="settled_itself")
    if finding.code is FindingCode.EXACT:
        target, sets = (
            State.CONFIRMED,
            {
                "provider_result_id": finding.object_id,
                "response_digest": bytes.fromhex(look.answer.body_digest or ""),
                "completed_at": clock.now(),
            },
        )
    else:
        target, sets = (
            State.REJECTED,
            {
                "reject_kind": RejectKind.PROVIDER_DECLINED.value,
                "completed_at": clock.now(),
            },
        )
    moved = transitions.step(
        case.tenant_id,
        case.effect_id,
        source=State.UNKNOWN,
        target=target,
        hand=settled,
        sets=sets,
    )
    return moved[0] if moved else None


def _allowed(case: Case) -> bool:
    """Whether the policy in force switched auto-settle on; PostgreSQL asks the same again."""
    found = row(
        "select ceiling_minor from policy_auto_settle where tenant_id = %s and provider = %s"
        " and operation = %s and currency = %s"
        " and version = (select max(version) from policy where tenant_id = %s)",
        (
            case.tenant_id,
            case.contract.provider,
            case.contract.operation,
            case.effect.currency,
            case.tenant_id,
        ),
    )
    if found is None:
        return False
    amount = case.effect.amount_minor
    return not case.contract.has_amount or (
        amount is not None and found[0] is not None and amount <= found[0]
    )
