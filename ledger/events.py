"""PROVIDER: the one place where what a provider reports may settle an effect by itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ledger import clock, transitions
from ledger.audit import Hand
from ledger.facts import Case
from ledger.rules.contract import Look, Route
from ledger.rules.decisions import Decision, Evidence, option
from ledger.rules.findings import HAPPENED, Finding, FindingCode
from ledger.rules.states import Cause, RejectKind, State
from ledger.sql import row

_AGAINST_ITSELF = frozenset({FindingCode.DIFFERS, FindingCode.REVERSED})
_SETTLES = frozenset({FindingCode.EXACT, FindingCode.FAILED_OBJECT})


def judge(case: Case, finding: Finding, *, look: Look, hand: Hand, scheduled: bool) -> int | None:
    """What a lookup's finding does by itself: the entry's number, or None for nothing.

    Evidence of an effect calls off a retry that waits to be sent. A scheduled lookup settles an
    unknown one where the policy allows it and a person alone could decide the same: one object
    that agrees in every compared field, up to the ceiling, or an explicit failed object.
    """
    if case.state is State.PREPARED and finding.code in HAPPENED:
        sets = {"cause": Cause.LATE_EVIDENCE.value}
        return _step(case, State.UNKNOWN, hand=hand, sets=sets)
    if not scheduled or case.state is not State.UNKNOWN or finding.code not in _SETTLES:
        return None
    if finding.route is Route.BY_ATTRIBUTES or _contradicted(case, finding):
        return None
    if not _allowed(case) or not _decidable(case, finding):
        return None
    settled = replace(hand, kind="settled_itself")
    if finding.code is FindingCode.EXACT:
        proof = {
            "provider_result_id": finding.object_id,
            "response_digest": bytes.fromhex(look.answer.body_digest or ""),
            "completed_at": clock.now(),
        }
        return _step(case, State.CONFIRMED, hand=settled, sets=proof)
    kind = {"reject_kind": RejectKind.PROVIDER_DECLINED.value, "completed_at": clock.now()}
    return _step(case, State.REJECTED, hand=settled, sets=kind)


def _step(case: Case, target: State, *, hand: Hand, sets: Mapping[str, Any]) -> int | None:
    moved = transitions.step(
        case.tenant_id, case.effect_id, source=case.state, target=target, hand=hand, sets=sets
    )
    return moved[0] if moved else None


def _contradicted(case: Case, finding: Finding) -> bool:
    """Whether anything ever said speaks for another object, or for an effect that failed."""
    happened = [said for said in case.earlier if said.code in HAPPENED]
    if finding.code is not FindingCode.EXACT:
        return bool(happened)
    return any(
        said.object_id != finding.object_id or said.code in _AGAINST_ITSELF for said in happened
    )


def _decidable(case: Case, finding: Finding) -> bool:
    """Whether one person, with everything that is known, could decide the same."""
    known = Evidence(case.effect.version + 1, finding, asked_by_person=False)
    facts = replace(case.facts, findings=(*case.facts.findings, known))
    wanted = Decision.ACCEPT if finding.code is FindingCode.EXACT else Decision.REJECT
    chosen = option(wanted, facts)
    return chosen.available and chosen.people == 1


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
