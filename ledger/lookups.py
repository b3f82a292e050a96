"""LOOKUP: ask for a look at the provider, take it up, and record what it answered and proves."""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from ledger import access, agenda, audit, clock, events, facts
from ledger.access import Acting
from ledger.audit import Hand
from ledger.errors import NotFound, TooMany
from ledger.facts import Case
from ledger.ids import new_id
from ledger.rules.comparison import Verdict, shown
from ledger.rules.contract import Look
from ledger.rules.finding_json import finding_to_json
from ledger.rules.findings import HAPPENED, Finding, FindingCode
from ledger.rules.states import Actor, State
from ledger.sql import row, rows

_AGAIN_AFTER = timedelta(seconds=5)
_TAKEN_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ticket:
    """An open lookup; `joined` means that one was under way already."""

    lookup_id: UUID
    joined: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """A lookup that this worker carries out now. `asked_by` is None for a scheduled one."""

    tenant_id: UUID
    lookup_id: UUID
    effect_id: UUID
    asked_by: UUID | None
    attempts: int


@transaction.atomic
def request(tenant_id: UUID, effect_id: UUID, *, by: Acting | None) -> Ticket:
    """Ask for a lookup, by a person or (`by` None) by schedule; joins one that is under way.

    Raises NotPermitted, NotFound, or TooMany where a person had this case looked up in the last 5
    seconds; the schedule's own look keeps nobody waiting.
    """
    if by is not None:
        access.require(by, tenant_id, "look_up")
    here = "select 1 from effect where tenant_id = %s and effect_id = %s"
    if row(here, (tenant_id, effect_id)) is None:
        raise NotFound()
    last = row(
        "select lookup_id, finished_at, asked_by from lookup"
        " where tenant_id = %s and effect_id = %s order by asked_at desc limit 1",
        (tenant_id, effect_id),
    )
    if last and last[1] is None:
        return Ticket(last[0], joined=True)
    if by and last and last[2] and clock.now() - last[1] < _AGAIN_AFTER:
        retry_at = last[1] + _AGAIN_AFTER
        raise TooMany("This was looked up a moment ago. Wait 5 seconds.", retry_at=retry_at)
    added = row(
        "insert into lookup (tenant_id, lookup_id, effect_id, asked_by) values (%s, %s, %s, %s)"
        " on conflict (tenant_id, effect_id) where finished_at is null do nothing"
        " returning lookup_id",
        (tenant_id, new_id(), effect_id, by.person_id if by else None),
    )
    if added:
        return Ticket(added[0], joined=False)
    open_one = row(
        "select lookup_id from lookup where tenant_id = %s and effect_id = %s"
        " and finished_at is null",
        (tenant_id, effect_id),
    )
    if open_one is None:
        raise TooMany()
    return Ticket(open_one[0], joined=True)


def waiting(limit: int) -> list[tuple[UUID, UUID]]:
    """Lookups nobody carries out, oldest first, as (tenant, lookup): what a lost message left."""
    found = rows(
        "select tenant_id, lookup_id from lookup where finished_at is null"
        " and (started_at is null or started_at < now() - make_interval(secs => %s))"
        " order by asked_at limit %s",
        (_TAKEN_SECONDS, limit),
    )
    return [(tenant_id, lookup_id) for tenant_id, lookup_id in found]


def take(tenant_id: UUID, lookup_id: UUID) -> Taken | None:
    """Take the lookup up, or None where it is done or another worker is at it.

    The attempts of this moment are what its answers speak of: a retry that is sent meanwhile makes
    them prove nothing of it.
    """
    found = row(
        "update lookup set started_at = now() where tenant_id = %s and lookup_id = %s"
        " and finished_at is null and (started_at is null"
        "  or started_at < now() - make_interval(secs => %s)) returning effect_id, asked_by,"
        " (select attempts from effect e where e.tenant_id = lookup.tenant_id"
        "  and e.effect_id = lookup.effect_id)",
        (tenant_id, lookup_id, _TAKEN_SECONDS),
    )
    return Taken(tenant_id, lookup_id, *found) if found else None


def progress(taken: Taken, words: str) -> None:
    """Say on the case what is being asked now."""
    row(
        "update lookup set progress = %s where tenant_id = %s and lookup_id = %s"
        " and finished_at is null",
        (words, taken.tenant_id, taken.lookup_id),
    )


@transaction.atomic
def record(taken: Taken, looks: tuple[tuple[Look, Finding], ...], *, now: datetime) -> int:
    """File each answer as evidence, the last one as this lookup's finding; its entry number.

    A scheduled lookup may settle the effect where the tenant's policy allows it (`events.judge`);
    one that a person asked for never does.
    """
    case = facts.case(taken.tenant_id, taken.effect_id, now=now)
    for look, finding in looks[:-1]:
        audit.file(taken.tenant_id, taken.effect_id, _hand(taken, look, finding))
    look, finding = looks[-1]
    hand = replace(_hand(taken, look, finding), lookup_id=taken.lookup_id)
    if case.state is State.UNKNOWN:
        planned = case.looks + (taken.asked_by is None)
        hand = replace(hand, **_agenda(case, finding, looks=planned, now=now))
    no = events.judge(case, finding, look=look, hand=hand, scheduled=taken.asked_by is None)
    if no is None:
        no = audit.file(taken.tenant_id, taken.effect_id, hand)
    if no is None:
        raise NotFound()
    if case.state is State.REJECTED and finding.code in HAPPENED:
        audit.contradiction(taken.tenant_id, taken.effect_id, no=no, finding=finding.code.value)
    row(
        "update lookup set finished_at = now(), entry_no = %s, progress = null"
        " where tenant_id = %s and lookup_id = %s and finished_at is null",
        (no, taken.tenant_id, taken.lookup_id),
    )
    return no


def _hand(taken: Taken, look: Look, finding: Finding) -> Hand:
    refs = [f"seen:{found.object_id}" for found in finding.objects]
    if look.answer.request_id:
        refs.append(f"lookup:{look.answer.request_id}")
    return Hand(
        kind="lookup",
        actor=Actor.RECONCILER,
        body=audit.body(
            {
                "look": _kept(look),
                "finding": json.loads(finding_to_json(finding)),
                "asked_by": str(taken.asked_by) if taken.asked_by else None,
                "lookup_id": str(taken.lookup_id),
            }
        ),
        finding=finding.kept_as.value,
        object_id=finding.object_id,
        refs=refs or None,
        brief=_brief(finding),
        about=taken.attempts,
    )


def _brief(finding: Finding) -> str | None:
    """The finding's own figure for the queue's row, where its code alone says too little."""
    if finding.code is FindingCode.SEVERAL:
        return f"{len(finding.objects)} candidates"
    differing = [each for each in finding.comparisons if each.verdict is Verdict.DIFFERS]
    if finding.code is not FindingCode.DIFFERS or not differing:
        return None
    name = "found" if differing[0].name == "amount" else shown(differing[0].name)
    words = f"{name} {differing[0].note}"
    return words[0].upper() + words[1:]


def _kept(look: Look) -> dict[str, Any]:
    """The look without the objects, which stand in its finding."""
    facts_of_look = asdict(look)
    facts_of_look.pop("objects")
    return facts_of_look


def _agenda(case: Case, finding: Finding, *, looks: int, now: datetime) -> dict[str, Any]:
    due_at = agenda.next_due_at(case.view, case.contract, finding, looks=looks, now=now)
    return agenda.ranked(
        case.view,
        case.contract,
        tenant_id=case.tenant_id,
        now=now,
        due_at=due_at,
        finding=finding.code,
    ).kwargs()
