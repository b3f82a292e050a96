"""The facts of one case, read in a fixed number of statements: what verbs check and pages show."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger import contracts, intents
from ledger.errors import NotFound
from ledger.models import Effect, Escalation, Lookup, OpenEffect, Resolution
from ledger.rules import absence, policy
from ledger.rules.contract import (
    Answer,
    Contract,
    FoundObject,
    IntentView,
    Look,
    Phase,
    Route,
    Standing,
)
from ledger.rules.decisions import CaseFacts, Decision, Evidence
from ledger.rules.finding_json import finding_from_json
from ledger.rules.findings import HAPPENED, Finding, FindingCode, judge
from ledger.rules.policy import Tier
from ledger.rules.states import Cause, State
from ledger.rules.words import say
from ledger.sql import rows


@dataclass(frozen=True, slots=True)
class EntryFact:
    """Entry E`no`: what happened, by whom, what it proves. `body` is None where it was erased."""

    no: int
    kind: str
    at: datetime
    actor: str
    login: str
    source: State
    target: State
    note: str | None
    object_id: str | None
    proof: bytes
    resolution_id: UUID | None
    body: Mapping[str, Any] | None
    finding: Finding | None


@dataclass(frozen=True, slots=True)
class Case:
    """One effect with everything known of it; `facts` is what the rules decide on."""

    tenant_id: UUID
    effect: Effect
    open: OpenEffect | None
    contract: Contract
    view: IntentView
    entries: tuple[EntryFact, ...]
    lookups: tuple[Lookup, ...]
    resolutions: tuple[Resolution, ...]
    escalations: tuple[Escalation, ...]
    facts: CaseFacts

    @property
    def effect_id(self) -> UUID:
        """The effect's id."""
        return self.effect.effect_id

    @property
    def state(self) -> State:
        """Where the effect stands."""
        return State(self.effect.state)

    @property
    def looks(self) -> int:
        """How many lookups were recorded while it was open."""
        return self.open.looks if self.open else 0

    @property
    def escalated(self) -> bool:
        """Whether somebody was named to act on it."""
        return self.open is not None and self.open.escalated_at is not None

    @property
    def taken_in(self) -> bool:
        """Whether it came from elsewhere: never dispatched here."""
        return self.entries[0].kind == "taken_in"

    @property
    def earlier(self) -> tuple[Finding, ...]:
        """What lookups and answers proved so far, oldest first."""
        return tuple(entry.finding for entry in self.entries if entry.finding)

    @property
    def request(self) -> Mapping[str, Any] | None:
        """The request as recorded before anything left, or None where it was erased."""
        return self.entries[0].body


def case(tenant_id: UUID, effect_id: UUID, *, now: datetime) -> Case:
    """Everything known of the effect at `now`, in eight statements. Raises NotFound."""
    effect = Effect.objects.filter(tenant_id=tenant_id, effect_id=effect_id).first()
    if effect is None:
        raise NotFound()
    own = {"tenant_id": tenant_id, "effect_id": effect_id}
    contract = contracts.load(effect.provider, effect.operation, effect.contract_version)
    # Its key_until is infinite where no key is kept, which Python cannot hold; effect has null.
    opened = OpenEffect.objects.filter(**own).defer("key_until").first()
    stored = _stored_entries(tenant_id, effect_id)
    view = _view(effect, request=stored[0][-1])
    entries = tuple(_entry(line, view, contract) for line in stored)
    lookups = tuple(Lookup.objects.filter(**own).order_by("-asked_at")[:50])
    return Case(
        tenant_id=tenant_id,
        effect=effect,
        open=opened,
        contract=contract,
        view=view,
        entries=entries,
        lookups=lookups,
        resolutions=tuple(Resolution.objects.filter(**own).order_by("-proposed_at")),
        escalations=tuple(Escalation.objects.filter(**own).order_by("-at")),
        facts=_case_facts(_Read(effect, contract, entries, lookups, opened), now),
    )


def _stored_entries(tenant_id: UUID, effect_id: UUID) -> list[tuple[Any, ...]]:
    return rows(
        "select e.no, e.kind, e.at, e.actor, e.login, e.from_state, e.to_state, e.note,"
        " e.object_id, e.proof, e.resolution_id, e.finding, p.body"
        " from entry e left join payload p using (tenant_id, effect_id, no)"
        " where e.tenant_id = %s and e.effect_id = %s order by e.no",
        (tenant_id, effect_id),
    )


def _view(effect: Effect, *, request: bytes | None) -> IntentView:
    refs = rows(
        "select kind, ref from effect_ref where tenant_id = %s and effect_id = %s"
        " and kind in ('object', 'request', 'key')",
        (effect.tenant_id, effect.effect_id),
    )
    objects = [ref for kind, ref in refs if kind == "object"]
    columns = {name: getattr(effect, name) for name in intents.VIEW_COLUMNS}
    for kind, ref in refs:
        if kind == "key":  # what the source of a taken-in effect says that it sent
            columns["provider_key"] = ref
    if columns["provider_result_id"] is None and len(objects) == 1:
        columns["provider_result_id"] = objects[0]
    return intents.view(
        effect.tenant_id,
        effect.effect_id,
        columns,
        request=request,
        request_ids=tuple(ref for kind, ref in refs if kind == "request"),
    )


def _entry(line: tuple[Any, ...], view: IntentView, contract: Contract) -> EntryFact:
    no, kind, at, actor, login, source, target, note, object_id, proof, resolution, code, body = (
        line
    )
    parsed: Mapping[str, Any] | None = json.loads(body) if body is not None else None
    finding = _finding(parsed, code, at, view, contract) if code and kind != "decision" else None
    return EntryFact(
        no=no,
        kind=kind,
        at=at,
        actor=actor,
        login=login,
        source=State(source),
        target=State(target),
        note=note,
        object_id=object_id,
        proof=proof,
        resolution_id=resolution,
        body=parsed,
        finding=finding,
    )


def _finding(
    body: Mapping[str, Any] | None, code: str, at: datetime, view: IntentView, contract: Contract
) -> Finding | None:
    """What an entry proves: a lookup's stored finding, or what an answer to our request showed."""
    if body is None:
        return None
    if "finding" in body:
        return finding_from_json(json.dumps(body["finding"]))
    if "found" in body:
        look = Look(
            route=Route.BY_KEY,
            asked_at=at,
            account=view.account,
            environment=view.environment,
            answer=Answer(method="", path="", phase=Phase.ANSWERED, duration_ms=0),
            objects=(_found(body["found"]),),
        )
        judged = judge(view, look, contract, now=at)
        return judged if judged.kept_as == code else replace(judged, code=FindingCode(code))
    words = say("{title} refused it: {code}.", title=contract.provider_title, code=body["code"])
    return Finding(code=FindingCode(code), route=Route.BY_KEY, asked_at=at, words=words)


def _found(data: Mapping[str, Any]) -> FoundObject:
    created = data["created_at"]
    return FoundObject(
        **{
            **data,
            "standing": Standing(data["standing"]),
            "created_at": datetime.fromisoformat(created) if created else None,
        }
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """The rows of a case before the rules see them."""

    effect: Effect
    contract: Contract
    entries: tuple[EntryFact, ...]
    lookups: tuple[Lookup, ...]
    opened: OpenEffect | None

    def became_unknown(self) -> EntryFact | None:
        """The newest entry that made it unknown."""
        moved = (e for e in reversed(self.entries) if e.target is State.UNKNOWN != e.source)
        return next(moved, None)

    def speaks_of_now(self, finding: Finding, at: datetime) -> bool:
        """Whether it still counts: that nothing was found before the last sending does not."""
        sent_at = self.effect.last_attempt_at
        return finding.code in HAPPENED or sent_at is None or at > sent_at

    def refused(self) -> EntryFact | None:
        """The newest entry that shows a definitive refusal of ours."""
        found = (e for e in reversed(self.entries) if (e.body or {}).get("outcome") == "Declined")
        return next(found, None)


def _case_facts(read: _Read, now: datetime) -> CaseFacts:
    effect, contract, opened = read.effect, read.contract, read.opened
    tiers = _tiers(effect)
    unknown_at, refused = read.became_unknown(), read.refused()
    tier = tiers.get(effect.currency)
    return CaseFacts(
        state=State(effect.state),
        contract=contract,
        now=now,
        amount_minor=effect.amount_minor,
        currency=effect.currency,
        first_dispatch_at=effect.first_attempt_at,
        last_dispatch_at=effect.last_attempt_at,
        attempts=effect.attempts,
        findings=tuple(
            Evidence(
                e.no,
                e.finding,
                asked_by_person=bool((e.body or {}).get("asked_by")),
                from_answer="look" not in (e.body or {}),
            )
            for e in read.entries
            if e.finding and read.speaks_of_now(e.finding, e.at)
        ),
        key_until=effect.key_until,
        retry_until=absence.retry_until(effect.first_attempt_at, contract)
        if effect.key_until
        else None,
        people_required={
            decision: policy.people_required(
                decision, effect.currency, effect.amount_minor, tiers=tiers
            )
            for decision in Decision
        },
        taken_in=read.entries[0].kind == "taken_in",
        open_lookup=any(lookup.finished_at is None for lookup in read.lookups),
        escalated_to=opened.escalated_to if opened else None,
        declined_code=refused.body["code"] if refused and refused.body else None,
        declined_no=refused.no if refused else None,
        cause=Cause(effect.cause) if effect.cause else None,
        cause_at=unknown_at.at if unknown_at else None,
        cause_no=unknown_at.no if unknown_at else None,
        second_from_minor=tier.second_from if tier else None,
        next_look_at=opened.due_at if opened and effect.state == State.UNKNOWN else None,
        workflow=effect.workflow_id,
        step=effect.step_id,
    )


def _tiers(effect: Effect) -> dict[str, Tier]:
    """The tiers in force for the effect's operation, by currency; '*' where none is its own."""
    found = rows(
        "select currency, second_from, third_from from policy_tier where tenant_id = %s"
        " and version = (select max(version) from policy where tenant_id = %s)"
        " and operation in (%s, '*') and currency = %s order by operation = '*' desc",
        (effect.tenant_id, effect.tenant_id, effect.operation, effect.currency),
    )
    return {currency: Tier(second, third) for currency, second, third in found}


def claimed_elsewhere(case_: Case, object_ids: list[str]) -> frozenset[str]:
    """Which of `object_ids` are the receipts of other effects of the tenant."""
    found = rows(
        "select ref from effect_ref where tenant_id = %s and kind = 'receipt' and ref = any(%s)"
        " and effect_id <> %s and provider = %s and account = %s",
        (
            case_.tenant_id,
            object_ids,
            case_.effect_id,
            case_.contract.provider,
            case_.effect.account,
        ),
    )
    return frozenset(ref for (ref,) in found)
