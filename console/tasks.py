"""Worker tasks, where ledger and provider meet; the row is the job, the message a bell."""

import logging
import os
import socket
import time
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
from celery import Task, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError, transaction

import providers
from console import faults
from ledger import agenda, client, clock, dispatch, facts, leases, lookups, resolutions
from ledger.client import Sending
from ledger.errors import DispatchTooLate, Frozen, StaleState
from ledger.facts import Case
from ledger.ids import new_id
from ledger.lookups import Taken
from ledger.resolutions import Handover
from ledger.rules import findings
from ledger.rules.contract import Answer, Contract, Look, LookFailure, Phase, Route, SendOutcome
from ledger.rules.findings import Finding, FindingCode
from ledger.rules.states import Cause, State
from providers.http import uptime_seconds

log = logging.getLogger(__name__)

_BATCH = 200
_RING_AGAIN_SECONDS = 15
_FROZEN_SECONDS = 60
_CLIMB_SECONDS = 20  # well below the soft time limit of a task
_CHECK_EVERY = timedelta(hours=1)
_OWNER = "Payments on call"
_IN_WORDS = {
    Route.BY_KEY: "by key",
    Route.BY_REQUEST_ID: "by request id",
    Route.BY_OBJECT_ID: "by object id",
    Route.BY_ATTRIBUTES: "by amount, recipient and time",
}
_ENDS_THE_LADDER = frozenset(FindingCode) - {
    FindingCode.ABSENT_INCONCLUSIVE,
    FindingCode.FAILING,
    FindingCode.UNSUPPORTED,
}


def worker_name() -> str:
    """This process as the record names it: host and process id."""
    return f"{socket.gethostname()}/{os.getpid()}"


@shared_task(name="console.tasks.send")
def send(tenant_id: str, effect_id: str, intent_key: str) -> None:
    """Claim the effect, send it once with no transaction open, and settle it on the answer."""
    faults.point("before-dispatch", intent_key=intent_key)
    tenant, effect = UUID(tenant_id), UUID(effect_id)
    claimed_at = uptime_seconds()  # read before the claim: the lease cannot have begun earlier
    try:
        with client.dispatching(tenant, effect, worker=worker_name()) as sending:
            if sending is not None:
                _send(sending, claimed_at=claimed_at)
    except Frozen:
        until = clock.now() + timedelta(seconds=_FROZEN_SECONDS)
        leases.put_off(tenant, effect, until=until)
    except DispatchTooLate:
        dispatch.expire(tenant, effect)


def _send(sending: Sending, *, claimed_at: float) -> None:
    held, key = sending.claim, sending.claim.view.intent_key
    faults.point("after-mark", intent_key=key)
    contract = held.contract
    send_by = claimed_at + _sending_seconds(contract)
    if uptime_seconds() >= send_by:
        sending.give_up(Cause.LEASE_LOST)  # a paused process woke too late to be sure of its lease
        return
    provider = providers.provider(contract.provider)
    outcome = provider.dispatch(held.view, contract, send_by=send_by)
    faults.point("after-response", intent_key=key)
    _settle(sending, outcome, key)


def _sending_seconds(contract: Contract) -> int:
    """For how long after the claim the request may be written.

    The answer must fit into the lease; and absence counts from one deadline after the claim.
    """
    return min(contract.lease_seconds - contract.deadline_seconds, contract.deadline_seconds)


def _settle(sending: Sending, outcome: SendOutcome, key: str) -> None:
    if not faults.armed("during-receipt", intent_key=key):
        sending.settle(outcome)
        return
    with transaction.atomic():
        sending.settle(outcome)
        faults.point("during-receipt", intent_key=key)


@shared_task(name="console.tasks.look")
def look(tenant_id: str, lookup_id: str) -> None:
    """Ask the provider by each route in the contract's order until an answer counts; record it."""
    taken = lookups.take(UUID(tenant_id), UUID(lookup_id))
    if taken is None:
        return
    case = facts.case(taken.tenant_id, taken.effect_id, now=clock.now())
    unsupported = _without_answer(case, Route.BY_ATTRIBUTES, LookFailure.UNSUPPORTED)
    asked = _climb(taken, case) or (unsupported,)
    try:
        lookups.record(taken, asked, now=clock.now())
    except (psycopg.OperationalError, OperationalError, SoftTimeLimitExceeded):
        raise  # the row stays open, and the sweep rings for it again
    except Exception:
        # What a provider module made of the answer cannot be kept; the lookup ends all the same.
        log.exception("lookup.not_kept", extra=_ids(case))
        failed = _without_answer(case, asked[-1][0].route, LookFailure.UNREADABLE)
        lookups.record(taken, (failed,), now=clock.now())


def _climb(taken: Taken, case: Case) -> tuple[tuple[Look, Finding], ...]:
    """Every route asked, with what its answer proves; stops at the first that ends the ladder.

    Once 20 seconds are used no further route is asked, so that what there is can be recorded.
    """
    began = time.monotonic()
    asked: list[tuple[Look, Finding]] = []
    for terms in case.contract.routes:
        if not _applies(terms.route, case):
            continue
        if asked and time.monotonic() - began >= _CLIMB_SECONDS:
            break
        lookups.progress(taken, f"Asking {case.contract.provider_title} {_IN_WORDS[terms.route]}")
        asked.append(_ask(case, terms.route))
        if asked[-1][1].code in _ENDS_THE_LADDER:
            break
    return tuple(sorted(asked, key=lambda one: _telling(one[1])))


def _ask(case: Case, route: Route) -> tuple[Look, Finding]:
    """One look and what it proves. Whatever a provider module raises is a look that failed.

    Else the lookup would stay open for ever, everybody would join it, and nobody be called.
    """
    try:
        provider = providers.provider(case.contract.provider)
        one = provider.look(case.view, route, case.contract, now=clock.now())
        return one, _judge(case, one)
    except SoftTimeLimitExceeded:
        log.warning("lookup.out_of_time", extra={**_ids(case), "route": route.value})
        return _without_answer(case, route, LookFailure.UNREACHABLE)
    except Exception:
        log.exception("lookup.broke", extra={**_ids(case), "route": route.value})
        return _without_answer(case, route, LookFailure.UNREADABLE)


def _ids(case: Case) -> dict[str, str]:
    """What a log line may say of the case."""
    return {"tenant_id": str(case.tenant_id), "effect_id": str(case.effect_id)}


def _telling(finding: Finding) -> int:
    """How much a finding says: what says most is recorded last and speaks for the lookup.

    Where nothing was found, that is a silence which waiting can turn into a proof of absence.
    """
    if finding.code in _ENDS_THE_LADDER:
        return 3
    if finding.code is FindingCode.ABSENT_INCONCLUSIVE:
        return 2 if finding.look_again_at is not None else 1
    return 0


def _judge(case: Case, one: Look) -> Finding:
    ids = [found.object_id for found in one.objects]
    claimed = facts.claimed_elsewhere(case, ids) if ids else frozenset()
    return findings.judge(
        case.view, one, case.contract, now=clock.now(), earlier=case.earlier, claimed=claimed
    )


def _applies(route: Route, case: Case) -> bool:
    """Whether what is known of the effect is enough to ask by `route`."""
    match route:
        case Route.BY_KEY:
            own_key = str(case.effect.provider_key)
            return not case.taken_in or case.view.provider_key != own_key
        case Route.BY_OBJECT_ID:
            return case.view.provider_object_id is not None
        case Route.BY_REQUEST_ID:
            return not case.taken_in or bool(case.view.provider_request_ids)
        case Route.BY_ATTRIBUTES:
            return case.view.amount_minor is not None or case.view.counterparty is not None


def _without_answer(case: Case, route: Route, failure: LookFailure) -> tuple[Look, Finding]:
    """A look that brought nothing to read, because of `failure`."""
    view = case.view
    one = Look(
        route=route,
        asked_at=clock.now(),
        account=view.account,
        environment=view.environment,
        answer=Answer(method="", path="", phase=Phase.NOT_SENT, duration_ms=0),
        failure=failure,
    )
    return one, _judge(case, one)


@shared_task(name="console.tasks.reap")
def reap() -> int:
    """Move what lost its lease to unknown, by the database's clock."""
    return dispatch.reap(limit=_BATCH)


@shared_task(name="console.tasks.sweep")
def sweep() -> None:
    """Ring for everything that is due: what a lost message left behind is only late, not lost.

    Each row rings alone, so that one that cannot be read keeps no other from its turn; a bell that
    nobody heard expires, for the next sweep rings again.
    """
    for due in leases.take_due(_BATCH, again_seconds=_RING_AGAIN_SECONDS):
        if due.state is State.PREPARED:
            _ring(send, due.tenant_id, due.effect_id, due.intent_key)
        else:
            _ring(attend, due.tenant_id, due.effect_id)
    for tenant_id, lookup_id in lookups.waiting(_BATCH):
        _ring(look, tenant_id, lookup_id)
    for tenant_id, effect_id in leases.outranked(_BATCH):
        _ring(rank, tenant_id, effect_id)


def _ring(task: Task, *arguments: UUID | str) -> None:
    task.apply_async([str(each) for each in arguments], expires=_RING_AGAIN_SECONDS)


@shared_task(name="console.tasks.rank")
def rank(tenant_id: str, effect_id: str) -> None:
    """Give an unknown effect the place in the queue that time has led it to."""
    now = clock.now()
    case = facts.case(UUID(tenant_id), UUID(effect_id), now=now)
    finding = case.earlier[-1].code if case.earlier else None
    place = agenda.ranked(
        case.view, case.contract, tenant_id=case.tenant_id, now=now, due_at=None, finding=finding
    )
    leases.rerank(
        case.tenant_id, case.effect_id, priority=place.priority, rank_until=place.rank_until
    )


@shared_task(name="console.tasks.attend")
def attend(tenant_id: str, effect_id: str) -> None:
    """An unknown effect that is due: look, or, when the plan or the key window ends, escalate."""
    _attend(UUID(tenant_id), UUID(effect_id))


def _attend(tenant_id: UUID, effect_id: UUID) -> None:
    now = clock.now()
    case = facts.case(tenant_id, effect_id, now=now)
    if case.state is not State.UNKNOWN:
        return
    first_look_at = agenda.first_look_at(case.view, case.contract, now=now)
    if case.looks == 0 and first_look_at > now:
        leases.put_off(tenant_id, effect_id, until=first_look_at)
        return
    closing_at = agenda.closing_at(case.view, case.contract)
    closing = closing_at is not None and closing_at <= now < (case.effect.key_until or now)
    ended = agenda.exhausted(case.contract, looks=case.looks)
    if (closing or ended) and not case.escalated:
        _escalate(case, now=now, closing=closing)
    if ended:
        leases.put_off(tenant_id, effect_id, until=now + _CHECK_EVERY)
    if not ended or case.escalated:
        ticket = lookups.request(tenant_id, effect_id, by=None)
        if not ticket.joined:
            _ring(look, tenant_id, ticket.lookup_id)


def _escalate(case: Case, *, now: datetime, closing: bool) -> None:
    """Nobody settled it in time: name the people on call. It stays unknown and frozen."""
    words = (
        "The provider forgets the key soon; after that no retry under it is possible."
        if closing
        else "Every lookup the contract plans was made and the outcome is still unproven."
    )
    handover = Handover(
        command_id=new_id(),
        owner=_OWNER,
        reason_code="key_window_closing" if closing else "lookups_exhausted",
        words=words,
        next_check_at=now + _CHECK_EVERY,
    )
    try:
        resolutions.escalate(case.tenant_id, case.effect_id, handover, by=None)
    except StaleState:
        return  # settled meanwhile, which is better
