"""OPERATOR: decide an effect on its evidence, or escalate it to somebody named."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from ledger.rules.consequences import second_person
from ledger.rules.decisions import Decision, Option, option
from ledger.rules.forms import Lack, shortcomings
from ledger.rules.states import State
from ledger.rules.words import say
from ledger.sql import row

_LONGEST_WORDS = 2000
_LEAST_WORDS = 10
_USED = "This form was sent before for something else. Nothing was recorded. Read the case again."
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
    """An escalation filed as entry `no`; `replayed` when the same command came again."""

    escalation_id: UUID
    no: int
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

    Raises NotPermitted, NotFound, StaleState (it moved, or the command was another one),
    NotPossible (why not, in words), BadForm (by field), SecondPersonNeeded, EvidenceDoesNotCarry or
    RetryClosed; then nothing was recorded.
    """
    access.require(by, tenant_id, "propose")
    command = _Command(tenant_id, effect_id, proposal.command_id, proposal.action, by.person_id)
    if command.was_done():
        return _first(command, replayed=True)
    try:
        with transaction.atomic():
            decided = _decide(tenant_id, effect_id, proposal, by)
    except LedgerError:
        if command.was_done():  # by the same command, a moment before
            return _first(command, replayed=True)
        raise
    if not decided:
        command.was_done()
    return _first(command, replayed=not decided)


def _decide(tenant_id: UUID, effect_id: UUID, proposal: Proposal, by: Acting) -> bool:
    """Record the decision and apply it; False where the same command did so a moment before."""
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
    _check_offered(chosen)
    if chosen.people > 1:
        raise SecondPersonNeeded(second_person(chosen, case.facts))
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


def _check_offered(chosen: Option) -> None:
    if not chosen.available:
        raise NotPossible(chosen.why.render(), words=chosen.why, because=chosen.because)


@dataclass(frozen=True, slots=True)
class _Command:
    """What a form's token stands for, once it was used: one action of one person on one effect."""

    tenant_id: UUID
    effect_id: UUID
    command_id: UUID
    action: Decision
    person_id: UUID | None

    def was_done(self) -> bool:
        """Whether this very command is on record. Raises StaleState where its id is another's."""
        used = row(
            "select effect_id, action, person_id from resolution"
            " where tenant_id = %s and command_id = %s"
            " union all select effect_id, %s, person_id from escalation"
            " where tenant_id = %s and command_id = %s",
            (*self._name(), Decision.ESCALATE.value, *self._name()),
        )
        if used is not None and used != (self.effect_id, self.action.value, self.person_id):
            raise StaleState(_USED)
        return used is not None

    def _name(self) -> tuple[UUID, UUID]:
        return self.tenant_id, self.command_id


def _first(command: _Command, *, replayed: bool) -> Resolved:
    found = row(
        "select r.resolution_id, r.action, a.no, a.to_state from resolution r"
        " join application a using (tenant_id, resolution_id)"
        " where r.tenant_id = %s and r.effect_id = %s and r.command_id = %s",
        (command.tenant_id, command.effect_id, command.command_id),
    )
    if found is None:
        raise NotFound()
    return Resolved(found[0], found[1], found[2], State(found[3]), replayed=replayed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """To whom an unknown effect is escalated, why, and when it is looked at next.

    `version` is the one that the person saw; None for an escalation by schedule, which saw none.
    """

    command_id: UUID
    owner: str
    reason_code: str
    words: str
    next_check_at: datetime
    version: int | None = None


def escalate(
    tenant_id: UUID, effect_id: UUID, handover: Handover, *, by: Acting | None
) -> Escalated:
    """Name who must act; the effect stays unknown and frozen. `by` None: it escalates itself.

    The same command again gives its first result. Raises NotPermitted, BadForm, NotFound,
    StaleState (it moved, or the command was another one) or NotPossible (settled, or escalated).
    """
    if by is not None:
        access.require(by, tenant_id, "propose")
    person_id = by.person_id if by else None
    command = _Command(tenant_id, effect_id, handover.command_id, Decision.ESCALATE, person_id)
    with transaction.atomic():
        # One at a time, so that of two people who name an owner the second is told of the first.
        row("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"escalate {effect_id}",))
        if command.was_done():
            return _escalated(command, replayed=True)
        _check_escalation(tenant_id, effect_id, handover, by)
        _file(command, handover, by)
    return _escalated(command, replayed=False)


def _check_escalation(
    tenant_id: UUID, effect_id: UUID, handover: Handover, by: Acting | None
) -> None:
    """What the page checks too: the version seen, the rule of the table, the form's fields."""
    case = facts.case(tenant_id, effect_id, now=clock.now())
    chosen = option(Decision.ESCALATE, case.facts)
    if by is None:
        if not chosen.available:
            raise StaleState(chosen.why.render())  # a person was faster
    elif case.effect.version != handover.version:
        raise StaleState(version=case.effect.version, seen=handover.version)
    _check_offered(chosen)
    codes = {reason.code for reason in chosen.reason_codes}
    _check_handover(handover, codes if by else {handover.reason_code})


def _file(command: _Command, handover: Handover, by: Acting | None) -> None:
    row(
        "insert into escalation (tenant_id, escalation_id, effect_id, command_id, person_id,"
        " account_id, owner, reason_code, words, next_check_at)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            command.tenant_id,
            new_id(),
            command.effect_id,
            command.command_id,
            by.person_id if by else None,
            by.account_id if by else None,
            handover.owner.strip(),
            handover.reason_code,
            handover.words.strip(),
            handover.next_check_at,
        ),
    )


def _escalated(command: _Command, *, replayed: bool) -> Escalated:
    """The escalation of `command` and the entry that its own transaction filed with it."""
    found = row(
        "select x.escalation_id, e.no from escalation x join entry e using (tenant_id, effect_id)"
        " where x.tenant_id = %s and x.command_id = %s and e.kind = 'escalated' and e.at = x.at",
        (command.tenant_id, command.command_id),
    )
    if found is None:
        raise NotFound()
    return Escalated(found[0], found[1], replayed=replayed)


def _check_handover(handover: Handover, codes: set[str]) -> None:
    wrong: dict[str, str] = {}
    if not handover.owner.strip():
        wrong["owner"] = "Name who must act: a team or a person."
    if not handover.reason_code or handover.reason_code not in codes:
        wrong["reason_code"] = "Choose a reason from the list."
    if len(handover.words.strip()) < _LEAST_WORDS:
        wrong["words"] = "Say what is needed in at least 10 characters."
    if not clock.now() < handover.next_check_at <= clock.now() + _FARTHEST_CHECK:
        wrong["next_check_at"] = "The next check lies in the future, at most 7 days ahead."
    if wrong:
        raise BadForm(lacks=tuple(Lack(field, say(words)) for field, words in wrong.items()))
