"""Tenants, people, contracts and effects for tests, made by the ledger's own verbs and logins."""

import json
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import Permission
from django.db import connection, transaction

from ledger import access, clock, contracts, dispatch, facts, lookups
from ledger.access import Acting
from ledger.dispatch import Claim
from ledger.intents import MESSAGES, Intent
from ledger.models import (
    Account,
    Person,
    Policy,
    PolicyAutoSettle,
    PolicyTier,
    Tenant,
    TenantGrant,
)
from ledger.rules import digest, findings
from ledger.rules.contract import (
    After,
    Answer,
    Confirmed,
    Contract,
    Declined,
    Definitive,
    FoundObject,
    Freeze,
    LagKind,
    Look,
    Phase,
    Route,
    RouteTerms,
    Standing,
)
from ledger.rules.states import Cause
from tests.logins import login

PROVIDER = "testbank"
SECOND_FROM, THIRD_FROM = 100_000, 2_500_000  # EUR, in cents
OPERATOR = ("view", "look_up", "propose", "reveal")
DAY = 24 * 60 * 60

_TERMS = RouteTerms(Route.BY_KEY, LagKind.DOCUMENTED, 0, exhaustive=True, proves_absence=True)
# Everything settles at once here, so an absence counts as soon as the answer is given up.
PAY = Contract(
    provider=PROVIDER,
    operation="pay",
    version="1",
    title="Test payment",
    noun="payment",
    provider_title="Test Bank",
    read_on="2026-11-30",
    sources=("tests/builders.py",),
    has_amount=True,
    key_window_seconds=DAY,
    compares_parameters=True,
    stores_5xx=False,
    taint_delay_seconds=0,
    concurrent_answer="409",
    deadline_seconds=0,
    lease_seconds=8,
    dispatch_within_seconds=900,
    response_window_seconds=30,
    max_in_flight_seconds=0,
    dispute_window_seconds=0,
    routes=(_TERMS,),
    schedule_seconds=(0, 60, 300),
    definitive=(Definitive("card_declined", "Declined.", After.NEW_VERSION),),
    not_processed=("429",),
    compared_fields=("amount", "currency", "counterparty", "account"),
    time_tolerance_seconds=120,
    freeze=Freeze.BLOCK,
    runbook="Look up by key.",
)
CONTRACTS = (
    PAY,
    replace(PAY, operation="pay_lost", lease_seconds=0),  # the lease is over once it is granted
    replace(PAY, operation="pay_held", lease_seconds=DAY),  # the lease outlives the tests
    replace(PAY, operation="pay_late", dispatch_within_seconds=0),  # never in time
    replace(PAY, operation="pay_warned", freeze=Freeze.WARN),
    replace(PAY, operation="pay_freely", freeze=Freeze.OFF),
    replace(PAY, operation="pay_brief_key", key_window_seconds=600),  # all of it is margin
    replace(PAY, operation="pay_unkeyed", key_window_seconds=None),
    replace(PAY, operation="pay_slowly", deadline_seconds=3600),  # an absence counts in an hour
    replace(
        PAY,
        operation="note",
        title="Test note",
        has_amount=False,
        key_window_seconds=None,
        compared_fields=("counterparty", "account"),
        freeze=Freeze.OFF,
    ),
)


def store_contracts() -> None:
    """Add the contracts of the test bank; again changes nothing."""
    for contract in CONTRACTS:
        contracts.store(contract)


@dataclass(frozen=True, slots=True)
class Home:
    """A tenant of one test's own, with an operator who may look up and propose."""

    tenant_id: UUID
    operator: Acting

    def intent(self, **changes: Any) -> Intent:
        """An intent of this tenant like no other; `changes` are its fields."""
        name = uuid4().hex[:12]
        amounts = {"amount_minor": 4_200, "currency": "EUR"}
        if changes.get("operation") == "note":
            amounts = {"currency": MESSAGES}
        given = {
            "tenant_id": self.tenant_id,
            "intent_key": f"invoice:n-{name}:pay:v1",
            "provider": PROVIDER,
            "operation": "pay",
            "request": {"to": "alice", "ref": name},
            "account": "main",
            "workflow_id": f"order-{name}",
            "step_id": "pay",
            "object_type": "invoice",
            "object_ref": f"n-{name}",
            "recipient_token": "token-alice",
            "recipient_label": "IBAN ending 4471",
            **amounts,
        }
        return Intent(**{**given, **changes})


def home(**tiers: tuple[int | None, int | None]) -> Home:
    """A fresh tenant with a policy and an operator; `tiers` are EUR=(second, third) and so on."""
    tenant = Tenant.objects.create(slug=f"t-{uuid4().hex[:16]}", name="A tenant")
    tiers = tiers or {"EUR": (SECOND_FROM, THIRD_FROM), "XXX": (None, None)}
    policy(tenant.id, tiers)
    return Home(tenant.id, person(tenant.id, OPERATOR))


def policy(
    tenant_id: UUID,
    tiers: dict[str, tuple[int | None, int | None]],
    *,
    settles: Iterable[tuple[str, str, int | None]] = (),
) -> int:
    """A new version of the tenant's policy, in force at once: tiers by currency.

    `settles` are (operation, currency, ceiling_minor) where a scheduled lookup may settle.
    """
    version = Policy.objects.filter(tenant_id=tenant_id).count() + 1
    own = {"tenant_id": tenant_id, "version": version}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "insert into policy (tenant_id, version) values (%s, %s)", list(own.values())
        )
        PolicyTier.objects.bulk_create(
            PolicyTier(**own, operation="*", currency=code, second_from=second, third_from=third)
            for code, (second, third) in tiers.items()
        )
        PolicyAutoSettle.objects.bulk_create(
            PolicyAutoSettle(
                **own, provider=PROVIDER, operation=named, currency=code, ceiling_minor=ceiling
            )
            for named, code, ceiling in settles
        )
    return version


def person(tenant_id: UUID | None, permissions: Iterable[str] = (), **fields: Any) -> Acting:
    """A new person with an account that holds `permissions` in the tenant; as who acts."""
    human = Person.objects.create(name="A person")
    account = Account.objects.using("default").create(
        username=f"u-{uuid4().hex[:16]}", person=human, **fields
    )
    if tenant_id:
        grant(account.pk, tenant_id, permissions)
    return Acting(human.id, account.pk, "session")


def grant(account_id: UUID, tenant_id: UUID, permissions: Iterable[str], **terms: Any) -> None:
    """Give the account the permissions in the tenant; `terms` may say `expires_at`."""
    found = Permission.objects.filter(
        content_type__app_label="ledger", content_type__model="tenant", codename__in=permissions
    )
    for permission in found:
        TenantGrant.objects.create(
            user_id=account_id, content_object_id=tenant_id, permission=permission, **terms
        )


# --- effects, each step as the login whose step it is ---


def prepared(at: Home, **changes: Any) -> UUID:
    """An effect that waits to be sent."""
    return prepare(at.intent(**changes)).effect_id


def prepare(wanted: Intent) -> dispatch.Prepared:
    """`wanted` recorded by a workflow."""
    with login("workflow"):
        access.enter(wanted.tenant_id)
        return dispatch.prepare(wanted)


def dispatched(at: Home, **changes: Any) -> Claim:
    """An effect that a worker has claimed, as the claim."""
    effect_id = prepared(at, **changes)
    with login("worker"):
        held = dispatch.claim(at.tenant_id, effect_id, worker="w1")
    assert held is not None
    return held


def unknown(at: Home, **changes: Any) -> UUID:
    """An effect whose answer did not come in time."""
    held = dispatched(at, **changes)
    with login("worker"):
        dispatch.give_up(held, Cause.TIMEOUT)
    return held.effect_id


def confirmed(at: Home, **changes: Any) -> UUID:
    """An effect whose answer proved that it happened; `found` are its object's differences."""
    found = changes.pop("found", {})
    held = dispatched(at, **changes)
    with login("worker"):
        dispatch.settle(held, yes(held, **found))
    return held.effect_id


def declined(at: Home, **changes: Any) -> UUID:
    """An effect that the provider refused for good."""
    held = dispatched(at, **changes)
    with login("worker"):
        dispatch.settle(held, Declined("card_declined", answer(status=402, code="card_declined")))
    return held.effect_id


def taken_in(at: Home, **changes: Any) -> UUID:
    """Somebody else's stuck row."""
    sent_at = changes.pop("first_attempt_at", clock.now())
    with login("worker"):
        return dispatch.take_in(at.intent(first_attempt_at=sent_at, **changes)).effect_id


def answer(**changes: Any) -> Answer:
    """What came back on the wire."""
    given = {
        "method": "POST",
        "path": "/payments",
        "phase": Phase.ANSWERED,
        "duration_ms": 12,
        "status": 200,
        "request_id": f"req-{uuid4().hex[:12]}",
        "body_digest": digest.digest(uuid4().bytes).hex(),
    }
    return Answer(**{**given, **changes})


def found_for(view: Any, **changes: Any) -> FoundObject:
    """The provider's object that agrees with the intent of `view`, apart from `changes`."""
    given = {
        "object_id": f"obj-{uuid4().hex[:12]}",
        "standing": Standing.TOOK_EFFECT,
        "status": "succeeded",
        "amount_minor": view.amount_minor,
        "currency": view.currency,
        "counterparty": view.counterparty,
        "account": view.account,
        "created_at": clock.now(),
        "reference": view.intent_key,
    }
    return FoundObject(**{**given, **changes})


def yes(held: Claim, **changes: Any) -> Confirmed:
    """The answer that the provider made the object."""
    return Confirmed(found_for(held.view, **changes), answer())


# --- lookups ---


@dataclass(frozen=True, slots=True)
class Looked:
    """A lookup carried out: its entry's number and the object it was about."""

    no: int
    object_id: str | None
    lookup_id: UUID


def look(
    at: Home,
    effect_id: UUID,
    *changes: dict[str, Any],
    by: Acting | None = None,
    **look_changes: Any,
) -> Looked:
    """One lookup by key that finds an object for each of `changes`, its differences, or nothing."""
    with login("web" if by else "worker"), transaction.atomic():
        access.enter(at.tenant_id)
        ticket = lookups.request(at.tenant_id, effect_id, by=by)
    with login("worker"):
        taken = lookups.take(at.tenant_id, ticket.lookup_id)
        assert taken is not None
        now = clock.now()
        case = facts.case(at.tenant_id, effect_id, now=now)
        one = a_look(case, changes, now=now, **look_changes)
        claimed = facts.claimed_elsewhere(case, [found.object_id for found in one.objects])
        finding = findings.judge(
            case.view, one, case.contract, now=now, earlier=case.earlier, claimed=claimed
        )
        no = lookups.record(taken, ((one, finding),), now=now)
    return Looked(no, finding.object_id, ticket.lookup_id)


def a_look(
    case: facts.Case, changes: Iterable[dict[str, Any]], *, now: datetime, **fields: Any
) -> Look:
    """An answered lookup by key of the case."""
    given = {
        "route": Route.BY_KEY,
        "asked_at": now,
        "account": case.view.account,
        "environment": case.view.environment,
        "answer": answer(method="GET"),
        "objects": tuple(found_for(case.view, **one) for one in changes),
    }
    return Look(**{**given, **fields})


# --- reading, and moving time ---


def effect_row(effect_id: UUID) -> dict[str, Any]:
    """The effect's row as the owner sees it, without the tenant's wall."""
    return one_row("select * from effect where effect_id = %s", effect_id)


def open_row(effect_id: UUID) -> dict[str, Any]:
    """The queue row of an effect."""
    found = one_row(
        "select to_jsonb(o) as of, due_at, since, nullif(key_until, 'infinity') as key_until"
        " from effect_open o where effect_id = %s",
        effect_id,
    )
    return {**json.loads(found.pop("of")), **found} if found else {}


def one_row(statement: str, *params: Any) -> dict[str, Any]:
    """The first row by column; empty where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        names = [column.name for column in cursor.description]
        found = cursor.fetchone()
    return dict(zip(names, found, strict=True)) if found else {}


def entries(effect_id: UUID) -> list[tuple[Any, ...]]:
    """(no, kind, from, to, actor, login) of every entry of the effect."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select no, kind, from_state, to_state, actor, login from entry where effect_id = %s"
            " order by no",
            (effect_id,),
        )
        return list(cursor.fetchall())


@contextmanager
def guards_aside() -> Any:
    """As the superuser that tests have, write past every trigger: to move time, never to cheat."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local session_replication_role = replica")
        yield cursor
        cursor.execute("set local session_replication_role = origin")
