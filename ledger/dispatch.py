"""WORKER: prepare an intent, claim it, settle it on its answer, give it up, reap a lost lease."""

import logging
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from ledger import agenda, audit, clock, contracts, intents, leases, transitions
from ledger.audit import Hand
from ledger.errors import (
    DigestMismatch,
    Frozen,
    InsideTransaction,
    NotFound,
    ReceiptTaken,
    StaleState,
)
from ledger.intents import Intent
from ledger.rules.contract import (
    Answer,
    Confirmed,
    Contract,
    Declined,
    Freeze,
    IntentView,
    NotProcessed,
    Phase,
    SendOutcome,
    Unclear,
)
from ledger.rules.findings import HAPPENED, FindingCode
from ledger.rules.states import Actor, Cause, RejectKind, State
from ledger.sql import row

log = logging.getLogger(__name__)

_RETRY_SECONDS = 30
_SAME = (
    "digest_version",
    "request_digest",
    "provider",
    "operation",
    "amount_minor",
    "currency",
    "account",
)
_FINDINGS: dict[type, FindingCode] = {Declined: FindingCode.FAILED_OBJECT}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A recorded intent. `created` is False where it stood already; `neighbour` is a warning."""

    effect_id: UUID
    state: State
    created: bool
    receipt: str | None = None
    neighbour: UUID | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A committed permission to send once, until the lease ends; `fence` is its number."""

    tenant_id: UUID
    effect_id: UUID
    fence: int
    view: IntentView
    contract: Contract


@dataclass(frozen=True, slots=True)
class Settled:
    """What an answer led to. `late` means the claim was gone, so it was kept as evidence only."""

    state: State | None
    no: int
    late: bool = False


def prepare(wanted: Intent) -> Prepared:
    """Record `wanted` before anything leaves, in the caller's own transaction where one is open.

    The same key with the same request answers with the effect that stands. Raises BadIntent,
    DigestMismatch (another request under this key) or Frozen (same object and operation unproven).
    """
    checked = intents.check(wanted)
    values, contract = checked.values, checked.contract
    blocks = contract.freeze is Freeze.BLOCK and not wanted.distinct_because
    born = transitions.birth(
        values,
        hand=Hand(kind="prepared", actor=Actor.WORKFLOW),
        request=checked.request,
        blocks=blocks and wanted.object_ref is not None,
    )
    if born:
        warned = born.neighbour if contract.freeze is Freeze.WARN else None
        return Prepared(born.effect_id, State.PREPARED, created=True, neighbour=warned)
    return _standing(wanted, values)


def _standing(wanted: Intent, values: Any) -> Prepared:
    """The effect that kept a birth from happening, or the refusal it stands for."""
    found = row(
        f"select effect_id, state, provider_result_id, {', '.join(_SAME)} from effect"
        " where tenant_id = %s and intent_key = %s",
        (wanted.tenant_id, values["intent_key"]),
    )
    if found is None:
        other = row(
            "select effect_id from effect_open where tenant_id = %s and object_type = %s"
            " and object_ref = %s and operation = %s and state in (2, 3) limit 1",
            (wanted.tenant_id, wanted.object_type, wanted.object_ref, wanted.operation),
        )
        raise Frozen(effect_id=other[0] if other else None)
    effect_id, state, receipt, *stands = found
    differs = [name for name, value in zip(_SAME, stands, strict=True) if value != values[name]]
    if differs:
        audit.refused(
            "digest_mismatch",
            tenant_id=wanted.tenant_id,
            object_id=str(effect_id),
            facts={"differs": differs, "request_digest": values["request_digest"].hex()},
        )
        raise DigestMismatch(effect_id=effect_id, differs=differs)
    return Prepared(effect_id, State(state), created=False, receipt=receipt)


_CLAIM_RETURNS = "".join(f", {name}" for name in intents.VIEW_COLUMNS) + (
    ", (select p.body from payload p where p.tenant_id = effect.tenant_id"
    " and p.effect_id = effect.effect_id and p.no = 1)"
)


def claim(tenant_id: UUID, effect_id: UUID, *, worker: str) -> Claim | None:
    """Take the one permission to send, or None where the effect is not waiting to be sent.

    The claim is the dispatch mark: once it is committed, a lease that runs out means unknown.
    Raises InsideTransaction, Frozen or DispatchTooLate; then nothing may be sent.
    """
    if connection.in_atomic_block:
        raise InsideTransaction()
    found = transitions.step(
        tenant_id,
        effect_id,
        source=State.PREPARED,
        target=State.DISPATCHED,
        hand=Hand(kind="sent", actor=Actor.WORKER, note=f"worker {worker}"),
        returning=_CLAIM_RETURNS,
    )
    if found is None:
        return None
    columns = dict(zip(intents.VIEW_COLUMNS, found[2:-1], strict=True))
    contract = contracts.load(
        columns["provider"], columns["operation"], columns["contract_version"]
    )
    view = intents.view(tenant_id, effect_id, columns, request=found[-1])
    return Claim(tenant_id, effect_id, fence=found[1], view=view, contract=contract)


def settle(held: Claim, outcome: SendOutcome) -> Settled:
    """Record what the provider answered to `held`, and move the effect as far as that proves.

    Confirmed and Declined end it, NotProcessed puts it back, anything else leaves it unknown. An
    answer that comes after the claim is gone is kept as evidence and moves nothing.
    """
    match outcome:
        case Confirmed():
            try:
                return _confirm(held, outcome)
            except ReceiptTaken:
                taken = Unclear(Cause.MISMATCH, outcome.answer, found=outcome.found)
                return settle(held, taken)
        case Declined() | NotProcessed():
            try:
                return _turn_back(held, outcome)
            except StaleState:  # evidence of an effect came in: no answer says that it is not there
                return settle(held, Unclear(Cause.LATE_EVIDENCE, outcome.answer))
        case Unclear():
            sets = {"cause": outcome.cause.value, "server_error": _tainted(held, outcome)}
            hand = replace(_hand("given_up", outcome), **_unknown_agenda(held))
            return _move(held, State.UNKNOWN, sets, hand)


def _turn_back(held: Claim, outcome: Declined | NotProcessed) -> Settled:
    if isinstance(outcome, Declined):
        sets = {
            "declined_code": outcome.code,
            "reject_kind": RejectKind.PROVIDER_DECLINED,
            "completed_at": clock.now(),
        }
        return _move(held, State.REJECTED, sets, _hand("answer", outcome))
    wait = outcome.retry_after_seconds or _RETRY_SECONDS
    due_at = clock.now() + timedelta(seconds=wait)
    return _move(held, State.PREPARED, {}, replace(_hand("returned", outcome), due_at=due_at))


def give_up(held: Claim, cause: Cause) -> Settled:
    """Leave `held` unknown: something broke after the dispatch mark, and nothing was learnt."""
    answer = Answer(method="", path="", phase=Phase.SENT, duration_ms=0)
    return settle(held, Unclear(cause, answer))


def reap(*, limit: int = 100) -> int:
    """Move effects whose lease ran out to unknown; how many. A lost lease never means failed.

    A row that cannot be moved is logged and left for the next run; it holds up no other.
    """
    count = 0
    for tenant_id, effect_id in leases.expired(limit):
        try:
            count += _reap(tenant_id, effect_id)
        except Exception:
            ids = {"tenant_id": str(tenant_id), "effect_id": str(effect_id)}
            log.exception("reap.failed", extra=ids)
    return count


def _reap(tenant_id: UUID, effect_id: UUID) -> bool:
    columns = _columns(tenant_id, effect_id)
    contract = contracts.load(
        columns["provider"], columns["operation"], columns["contract_version"]
    )
    view = intents.view(tenant_id, effect_id, columns, request=None)
    hand = Hand(
        kind="lease_lost",
        actor=Actor.REAPER,
        note=f"attempt {view.attempts}: the lease ended without an answer",
        **_agenda(tenant_id, view, contract, clock.now()),
    )
    moved = transitions.step(
        tenant_id,
        effect_id,
        source=State.DISPATCHED,
        target=State.UNKNOWN,
        hand=hand,
        sets={"cause": Cause.LEASE_LOST.value},
        fence=view.fence,
    )
    return moved is not None


def expire(tenant_id: UUID, effect_id: UUID) -> bool:
    """Reject a prepared effect whose time to be sent is over (T3): nothing left in this attempt.

    Every earlier attempt is proved absent, or it could not have been prepared again.
    """
    sets = {"reject_kind": RejectKind.NOT_DISPATCHED.value, "completed_at": clock.now()}
    hand = Hand(kind="not_dispatched", actor=Actor.WORKER, note="the time to send it was over")
    moved = transitions.step(
        tenant_id, effect_id, source=State.PREPARED, target=State.REJECTED, hand=hand, sets=sets
    )
    return moved is not None


def take_in(wanted: Intent, *, refs: tuple[str, ...] = ()) -> Prepared:
    """Record somebody else's stuck row as an unknown effect (T20), once; it is never dispatched.

    `request` is the source line; `first_attempt_at` when it was sent, as far as is known; `refs`
    the provider's ids that the line names, as `object:`, `request:` or `key:` and the value.
    """
    checked = intents.check(wanted)
    values = {**checked.values, "first_attempt_at": wanted.first_attempt_at}
    hand = Hand(kind="taken_in", actor=Actor.INTAKE)
    with transaction.atomic():
        born = transitions.birth(values, hand=hand, request=checked.request, blocks=False)
        if born and refs:
            words = "The source line names " + ", ".join(refs)
            named = Hand(kind="named", actor=Actor.INTAKE, note=words, refs=list(refs))
            audit.file(wanted.tenant_id, born.effect_id, named)
    if born is None:
        return _standing(wanted, values)
    return Prepared(born.effect_id, State.UNKNOWN, created=True)


def _columns(tenant_id: UUID, effect_id: UUID) -> dict[str, Any]:
    found = row(
        f"select {', '.join(intents.VIEW_COLUMNS)} from effect"
        " where tenant_id = %s and effect_id = %s",
        (tenant_id, effect_id),
    )
    if found is None:
        raise NotFound()
    return dict(zip(intents.VIEW_COLUMNS, found, strict=True))


def _agenda(tenant_id: UUID, view: IntentView, contract: Contract, now: datetime) -> dict[str, Any]:
    due_at = agenda.first_look_at(view, contract, now=now)
    return agenda.ranked(
        view, contract, tenant_id=tenant_id, now=now, due_at=due_at, finding=None
    ).kwargs()


def _unknown_agenda(held: Claim) -> dict[str, Any]:
    return _agenda(held.tenant_id, held.view, held.contract, clock.now())


def _tainted(held: Claim, outcome: Unclear) -> bool:
    return held.view.had_server_error or outcome.server_error


def _hand(kind: str, outcome: SendOutcome) -> Hand:
    answer = outcome.answer
    facts: dict[str, Any] = {"outcome": type(outcome).__name__, "answer": asdict(answer)}
    if isinstance(outcome, Declined):
        facts["code"] = outcome.code
    if isinstance(outcome, Unclear):
        facts["cause"] = outcome.cause.value
    found = outcome.found if isinstance(outcome, Confirmed | Unclear) else None
    refs = [f"request:{answer.request_id}"] if answer.request_id else []
    if found is not None:
        facts["found"] = asdict(found)
    if isinstance(outcome, Unclear) and found is not None:
        refs.append(f"object:{found.object_id}")  # a confirmed one is the receipt
    return Hand(
        kind=kind,
        actor=Actor.WORKER,
        body=audit.body(facts),
        finding=_FINDINGS.get(type(outcome)) if found is None else _found_as(outcome),
        object_id=found.object_id if found else None,
        refs=refs or None,
    )


def _confirm(held: Claim, outcome: Confirmed) -> Settled:
    sets = {
        "provider_result_id": outcome.found.object_id,
        "response_digest": bytes.fromhex(outcome.answer.body_digest or ""),
        "completed_at": clock.now(),
        "provider_completed_at": outcome.found.created_at,
    }
    return _move(held, State.CONFIRMED, sets, _hand("answer", outcome))


def _found_as(outcome: SendOutcome) -> FindingCode:
    if isinstance(outcome, Confirmed):
        return FindingCode.EXACT
    mismatch = isinstance(outcome, Unclear) and outcome.cause is Cause.MISMATCH
    return FindingCode.DIFFERS if mismatch else FindingCode.PENDING


def _move(held: Claim, target: State, sets: dict[str, Any], hand: Hand) -> Settled:
    moved = transitions.step(
        held.tenant_id,
        held.effect_id,
        source=State.DISPATCHED,
        target=target,
        hand=hand,
        sets=sets,
        fence=held.fence,
    )
    if moved is not None:
        return Settled(target, no=moved[0])
    refs = list(hand.refs or ())
    if hand.object_id:
        refs.append(f"object:{hand.object_id}")
    late = Hand(
        kind="late_answer",
        actor=Actor.WORKER,
        body=hand.body,
        finding=hand.finding,
        object_id=hand.object_id,
        refs=refs or None,
        about=held.view.attempts,
    )
    return Settled(None, no=_file_late(held, late), late=True)


def _file_late(held: Claim, late: Hand) -> int:
    """Keep a late answer; one that speaks for an effect calls off a retry that waits to be sent."""
    happened = late.finding in HAPPENED
    if happened:
        called_off = transitions.step(
            held.tenant_id,
            held.effect_id,
            source=State.PREPARED,
            target=State.UNKNOWN,
            hand=late,
            sets={"cause": Cause.LATE_EVIDENCE.value},
        )
        if called_off is not None:
            return int(called_off[0])
    no = audit.file(held.tenant_id, held.effect_id, late)
    if no is None:
        raise NotFound()
    state = _columns(held.tenant_id, held.effect_id)["state"]
    if happened and late.finding and state == State.REJECTED:
        audit.contradiction(held.tenant_id, held.effect_id, no=no, finding=late.finding)
    return no
