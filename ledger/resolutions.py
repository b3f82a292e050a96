"""OPERATOR: decide an effect on its evidence, or escalate it to somebody named."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from ledger import access, clock, facts
from ledger.access import Acting
from ledger.errors import (
    BadForm,
    LedgerError,
    NotFound,
    NotPossible,
    SecondPersonNeeded,
    StaleState,
)
from ledger.facts import Case
from ledger.ids import new_id
from ledger.rules.decisions import Decision, Option, option
from ledger.rules.forms import Lack, shortcomings
from ledger.rules.states import State
from ledger.rules.words import say
from ledger.sql import row

_LONGEST_WORDS = 2000
_LEAST_WORDS = 10
_FARTHEST_CHECK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision that took effect as entry `no`; `replayed` when the same command came again."""

    resolution_id: UUID
    action: str
    no: int
    state: State
    replayed: bool


@dataclass(frozen=True, slots=True)
class Escalated:
    """An escalation filed; `replayed` when the same command came again."""

    escalation_id: UUID
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a person wants recorded: the decision, the version and evidence seen, and why.

    `typed` maps a field the decision asks for to what was typed; `command_id` is the form's token.
    """

    command_id: UUID
    action: Decision
    version: int
    evidence: tuple[int, ...]
    reason_code: str
    words: str = ""
    receipt_id: str | None = None
    typed: Mapping[str, str] | None = None


def propose(tenant_id: UUID, effect_id: UUID, proposal: Proposal, *, by: Acting) -> Resolved:
    """Decide, alone, an effect below the tier; the same command again gives its first result.

    Raises NotPermitted, NotFound, StaleState (it moved), NotPossible (why not, in words), BadForm
    (by field), SecondPersonNeeded, EvidenceDoesNotCarry or RetryClosed; then nothing was recorded.
    """
    if done := _result(tenant_id, effect_id, proposal.command_id):
        return done
    try:
        with transaction.atomic():
            decided = _decide(tenant_id, effect_id, proposal, by)
    except LedgerError:
        if done := _result(tenant_id, effect_id, proposal.command_id):
            return done
        raise
    first = _result(tenant_id, effect_id, proposal.command_id)
    if first is None:
        raise NotFound()
    return replace(first, replayed=not decided)


def _decide(tenant_id: UUID, effect_id: UUID, proposal: Proposal, by: Acting) -> bool:
    """Record the decision and apply it; False where the same command did so a moment before."""
    access.require(by, tenant_id, "propose")
    case = facts.case(tenant_id, effect_id, now=clock.now())
    if case.effect.version != proposal.version:
        raise StaleState(version=case.effect.version, seen=proposal.version)
    chosen = option(proposal.action, case.facts)
    _check(case, chosen, proposal)
    resolution_id = new_id()
    added = row(
        "insert into resolution (tenant_id, resolution_id, effect_id, command_id, action, version,"
        " receipt_id, evidence, reason_code, words, person_id, account_id)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " on conflict (tenant_id, command_id) do nothing returning resolution_id",
        (
            tenant_id,
            resolution_id,
            effect_id,
            proposal.command_id,
            proposal.action.value,
            proposal.version,
            chosen.object_id or proposal.receipt_id,
            sorted(set(proposal.evidence)),
            proposal.reason_code,
            proposal.words.strip(),
            by.person_id,
            by.account_id,
        ),
    )
    if added:
        row(
            "insert into application (tenant_id, resolution_id) values (%s, %s)",
            (tenant_id, resolution_id),
        )
    return added is not None


def _check(case: Case, chosen: Option, proposal: Proposal) -> None:
    """What the form must hold; the page asks for no more than this."""
    if not chosen.available:
        raise NotPossible(chosen.why.render(), words=chosen.why, because=chosen.because)
    if chosen.people > 1:
        raise SecondPersonNeeded()
    lacks = shortcomings(
        chosen,
        case.facts,
        reason_code=proposal.reason_code,
        words=proposal.words,
        evidence=proposal.evidence,
        object_id=proposal.receipt_id,
        typed=proposal.typed,
    )
    if len(proposal.words) > _LONGEST_WORDS:
        most = say("At most {most} characters of words.", most=_LONGEST_WORDS)
        lacks += (Lack("words", most),)
    if lacks:
        raise BadForm(lacks=lacks)


def _result(tenant_id: UUID, effect_id: UUID, command_id: UUID) -> Resolved | None:
    found = row(
        "select r.resolution_id, r.action, a.no, a.to_state from resolution r"
        " join application a using (tenant_id, resolution_id)"
        " where r.tenant_id = %s and r.effect_id = %s and r.command_id = %s",
        (tenant_id, effect_id, command_id),
    )
    return Resolved(found[0], found[1], found[2], State(found[3]), replayed=True) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """To whom an unknown effect is escalated, why, and when it is looked at next."""

    command_id: UUID
    owner: str
    reason_code: str
    words: str
    next_check_at: datetime


def escalate(
    tenant_id: UUID, effect_id: UUID, handover: Handover, *, by: Acting | None
) -> Escalated:
    """Name who must act; the effect stays unknown and frozen. `by` None: it escalates itself.

    Raises NotPermitted, BadForm, NotFound or StaleState (it is no longer unknown).
    """
    if by is not None:
        access.require(by, tenant_id, "propose")
    _check_handover(handover)
    with transaction.atomic():
        added = row(
            "insert into escalation (tenant_id, escalation_id, effect_id, command_id, person_id,"
            " account_id, owner, reason_code, words, next_check_at)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " on conflict (tenant_id, command_id) do nothing returning escalation_id",
            (
                tenant_id,
                new_id(),
                effect_id,
                handover.command_id,
                by.person_id if by else None,
                by.account_id if by else None,
                handover.owner.strip(),
                handover.reason_code,
                handover.words.strip(),
                handover.next_check_at,
            ),
        )
    if added:
        return Escalated(added[0], replayed=False)
    first = row(
        "select escalation_id from escalation where tenant_id = %s and command_id = %s",
        (tenant_id, handover.command_id),
    )
    if first is None:
        raise NotFound()
    return Escalated(first[0], replayed=True)


def _check_handover(handover: Handover) -> None:
    wrong: dict[str, str] = {}
    if not handover.owner.strip():
        wrong["owner"] = "Name who must act: a team or a person."
    if not handover.reason_code:
        wrong["reason_code"] = "Choose a reason from the list."
    if len(handover.words.strip()) < _LEAST_WORDS:
        wrong["words"] = "Say what is needed in at least 10 characters."
    if not clock.now() < handover.next_check_at <= clock.now() + _FARTHEST_CHECK:
        wrong["next_check_at"] = "The next check lies in the future, at most 7 days ahead."
    if wrong:
        raise BadForm(lacks=tuple(Lack(field, say(words)) for field, words in wrong.items()))
