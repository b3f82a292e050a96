"""Nothing confirms without evidence: no address and no verb, by whatever role or login.

Everything is enumerated, and what the tables here do not name fails. Tasks and commands are in
`test_no_guess_outside.py`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import Error, connection
from django.urls import URLPattern, URLResolver, get_resolver, reverse

import ledger
from console.people import ROLES
from ledger import (
    access,
    audit,
    client,
    contracts,
    dispatch,
    events,
    intents,
    leases,
    lookups,
    resolutions,
    resumptions,
    sql,
    transitions,
)
from ledger.clock import now
from ledger.errors import LedgerError
from ledger.ids import screen_id
from ledger.lookups import Taken
from ledger.rules.decisions import Decision
from ledger.rules.states import Cause, State
from tests import builders
from tests.builders import Home
from tests.console.pages.conftest import Browser, browser
from tests.logins import login
from tests.scenarios.forging import INVENTED, WORDS, Forgery, confirmed, forge, unproven
from tests.servers import BrokerServer

pytestmark = pytest.mark.django_db

# --- addresses ---

IN_TENANT = ("queue", "queue_pulse", "effects", "search", "providers")
IN_CASE = ("case", "lookups", "resolutions", "escalations")
OUTSIDE = (
    "healthz", "readyz", "home", "tenants", "preferences",
    "account_login", "account_logout", "account_reauthenticate", "account_inactive",
)  # fmt: skip
ADDRESSES = (*IN_TENANT, *IN_CASE, "lookup", *OUTSIDE)
DECISIONS = (*Decision, "confirm", "confirmed", "4")
NOBODY = "nobody"


def names(patterns: list[Any]) -> Iterator[str]:
    """The name of every address, nested ones too."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or str(pattern.pattern)


def test_every_address_is_driven() -> None:
    assert sorted(names(get_resolver().url_patterns)) == sorted(ADDRESSES)


def address(name: str, slug: str, forgery: Forgery) -> str:
    """The address, about the effect where it is about one."""
    if name in OUTSIDE:
        return reverse(name)
    args: list[Any] = [slug]
    args += [screen_id(forgery.effect_id)] if name in (*IN_CASE, "lookup") else []
    args += [uuid4()] if name == "lookup" else []
    return reverse(name, args=args)


def visit(person: Browser, name: str, forgery: Forgery) -> None:
    """Read the address with the forged form as its query, and send it the form."""
    for decision in DECISIONS if name == "resolutions" else ("accept",):
        form, url = forgery.form(decision), address(name, person.slug, forgery)
        read = person.client.get
        with login("web"):
            statuses = [read(url, form).status_code, person.client.post(url, form).status_code]
        assert all(status < 500 for status in statuses) or name == "readyz", (name, statuses)


@pytest.fixture
def home(database: Any) -> Home:
    """A tenant where 42.00 EUR takes one person."""
    builders.store_contracts()
    return builders.home()


def person(home: Home, role: str) -> Browser:
    """A browser of somebody with that role in the tenant, or of somebody not signed in."""
    held = ROLES.get(role, frozenset())
    found = browser(home, builders.person(home.tenant_id, sorted(held)).account_id)
    if role == NOBODY:
        found.client.logout()
    return found


@pytest.mark.parametrize("role", [*sorted(ROLES), "everything", NOBODY])
def test_no_address_confirms_what_nobody_has_proved(
    home: Home, valkey: BrokerServer, role: str
) -> None:
    for name in ADDRESSES:
        forgery = forge(home, unproven(home))
        visit(person(home, role), name, forgery)
        assert not confirmed(forgery.effect_id), name


def test_with_an_exact_finding_the_same_form_does_confirm(home: Home) -> None:
    by_address = {}
    for name in (*IN_TENANT, *IN_CASE, "lookup"):
        wanted = unproven(home)
        effect_id = builders.prepare(wanted).effect_id
        found = builders.look(home, effect_id, {})
        forgery = forge(home, wanted, receipt=str(found.object_id))
        visit(person(home, "operator"), name, forgery)
        by_address[name] = confirmed(effect_id)
    assert [name for name, did in by_address.items() if did] == ["resolutions"]


# --- verbs ---

LOGINS = ("web", "worker", "workflow", "auth", "sealer", "auditor")
COMPUTES = "computes from what it is given, and writes nothing"
READS = "reads"
NO_VERBS = ("apps", "guards", "migrations", "models", "rules")  # there is nothing to call in them
Verb = Callable[[Forgery], object]


def decide(forgery: Forgery) -> None:
    """Every decision that there is."""
    for action in Decision:
        attempt(
            lambda action=action: resolutions.propose(
                forgery.tenant_id,
                forgery.effect_id,
                forgery.proposal(action),
                by=forgery.home.operator,
            )
        )


def send(forgery: Forgery) -> None:
    """Take the claim if there is one, and report the invented answer."""
    with client.dispatching(forgery.tenant_id, forgery.effect_id, worker="w9") as sending:
        if sending is not None:
            sending.settle(forgery.answer)


def report(forgery: Forgery) -> None:
    """A lookup carried out by nobody's order, with its invented finding."""
    for lookup_id in (uuid4(), *asked(forgery)):
        taken = Taken(forgery.tenant_id, lookup_id, forgery.effect_id, None, 1)
        attempt(lambda taken=taken: lookups.record(
            taken, ((forgery.look, forgery.finding),), now=now()
        ))  # fmt: skip


def asked(forgery: Forgery) -> list[UUID]:
    """A real lookup under way, where the login may ask for one."""
    done = attempt(lambda: lookups.request(forgery.tenant_id, forgery.effect_id, by=None))
    return [done.lookup_id] if done else []


def move(forgery: Forgery) -> None:
    """The one place that changes states, told to confirm: from every state, by every entry."""
    for source in State:
        for kind in ("answer", "settled_itself", "decision", "lookup", "late_answer"):
            attempt(
                lambda source=source, kind=kind: transitions.step(
                    forgery.tenant_id,
                    forgery.effect_id,
                    source=source,
                    target=State.CONFIRMED,
                    hand=forgery.hand(kind),
                    sets=forgery.results(),
                )
            )


def bear(forgery: Forgery) -> None:
    """A second birth of the same intent."""
    checked = intents.check(forgery.wanted)
    transitions.birth(
        checked.values, hand=forgery.hand("prepared"), request=checked.request, blocks=False
    )


def write(forgery: Forgery) -> None:
    """What a person with a SQL prompt would try."""
    which = (forgery.tenant_id, forgery.effect_id)
    for statement in (
        "update effect set state = 4 where tenant_id = %s and effect_id = %s",
        "update effect set state = 4, provider_result_id = 'x', response_digest = '\\x00',"
        " completed_at = now() where tenant_id = %s and effect_id = %s",
        "update effect_open set state = 4 where tenant_id = %s and effect_id = %s",
        "update entry set to_state = 4 where tenant_id = %s and effect_id = %s",
        "insert into effect_ref (tenant_id, effect_id, kind, ref) values (%s, %s, 'receipt', 'x')",
    ):
        attempt(lambda statement=statement: sql.row(statement, which))
        attempt(lambda statement=statement: sql.rows(statement, which))


def record(forgery: Forgery) -> UUID:
    """A record that says so."""
    return audit.record(
        "confirmed",
        tenant_id=forgery.tenant_id,
        by=None,
        object_type="effect",
        object_id=str(forgery.effect_id),
        facts={"receipt": INVENTED},
    )


def on(verb: Callable[..., object]) -> Verb:
    """A verb that takes the tenant and the effect alone."""
    return lambda forgery: verb(forgery.tenant_id, forgery.effect_id)


VERBS: Mapping[str, Verb | str] = {
    "access.enter": lambda f: access.enter(f.tenant_id),
    "access.forget": lambda _: access.forget(connection.connection),
    "access.permissions": READS,
    "access.require": READS,
    "access.tenants": READS,
    "agenda.Agenda.kwargs": COMPUTES,
    "agenda.closing_at": COMPUTES,
    "agenda.exhausted": COMPUTES,
    "agenda.first_look_at": COMPUTES,
    "agenda.next_due_at": COMPUTES,
    "agenda.ranked": COMPUTES,
    "audit.Hand.params": COMPUTES,
    "audit.body": COMPUTES,
    "audit.contradiction": lambda f: audit.contradiction(
        f.tenant_id, f.effect_id, no=f.version, finding="exact"
    ),
    "audit.file": lambda f: [
        attempt(lambda kind=kind: audit.file(f.tenant_id, f.effect_id, f.hand(kind)))
        for kind in ("lookup", "late_answer", "answer", "settled_itself", "decision")
    ],
    "audit.record": record,
    "audit.refused": lambda f: audit.refused(
        "confirmed", tenant_id=f.tenant_id, object_id=str(f.effect_id), facts={}
    ),
    "client.Sending.give_up": lambda f: client.Sending(f.claim).give_up(Cause.TIMEOUT),
    "client.Sending.settle": lambda f: client.Sending(f.claim).settle(f.answer),
    "client.acknowledge": lambda f: client.acknowledge(f.news()),
    "client.dispatching": send,
    "client.due": lambda f: client.due(f.tenant_id),
    "client.prepare": lambda f: client.prepare(f.wanted),
    "clock.now": COMPUTES,
    "contracts.base_currency": READS,
    "contracts.current": READS,
    "contracts.load": READS,
    "contracts.store": lambda f: contracts.store(replace(f.case.contract, version="easier")),
    "dispatch.claim": lambda f: dispatch.claim(f.tenant_id, f.effect_id, worker="w9"),
    "dispatch.expire": on(dispatch.expire),
    "dispatch.give_up": lambda f: dispatch.give_up(f.claim, Cause.TIMEOUT),
    "dispatch.prepare": lambda f: dispatch.prepare(f.wanted),
    "dispatch.reap": lambda _: dispatch.reap(limit=1000),
    "dispatch.settle": lambda f: [
        attempt(lambda fence=fence: dispatch.settle(replace(f.claim, fence=fence), f.answer))
        for fence in range(f.version + 3)
    ],
    "dispatch.take_in": lambda f: dispatch.take_in(f.wanted, refs=(f"object:{f.receipt}",)),
    "errors.from_database": COMPUTES,
    "events.judge": lambda f: [
        attempt(
            lambda planned=planned: events.judge(
                f.case, f.finding, look=f.look, hand=f.hand("lookup"), scheduled=planned
            )
        )
        for planned in (True, False)
    ],
    "facts.case": READS,
    "facts.claimed_elsewhere": READS,
    "ids.from_screen_id": COMPUTES,
    "ids.new_id": COMPUTES,
    "ids.screen_id": COMPUTES,
    "intents.check": COMPUTES,
    "intents.view": COMPUTES,
    "leases.expired": READS,
    "leases.outranked": READS,
    "leases.put_off": lambda f: leases.put_off(f.tenant_id, f.effect_id, until=now()),
    "leases.rerank": lambda f: leases.rerank(
        f.tenant_id, f.effect_id, priority=4, rank_until=now()
    ),
    "leases.take_due": lambda _: leases.take_due(1000, again_seconds=0),
    "lookups.progress": lambda f: [
        lookups.progress(Taken(f.tenant_id, one, f.effect_id, None, 1), WORDS) for one in asked(f)
    ],
    "lookups.record": report,
    "lookups.request": lambda f: lookups.request(f.tenant_id, f.effect_id, by=f.home.operator),
    "lookups.take": lambda f: [lookups.take(f.tenant_id, one) for one in asked(f)],
    "lookups.waiting": READS,
    "resolutions.escalate": lambda f: resolutions.escalate(
        f.tenant_id, f.effect_id, f.handover(), by=f.home.operator
    ),
    "resolutions.propose": decide,
    "resumptions.acknowledge": lambda f: resumptions.acknowledge(f.news()),
    "resumptions.due": lambda f: resumptions.due(f.tenant_id),
    "sql.row": write,
    "sql.rows": write,
    "transitions.birth": bear,
    "transitions.step": move,
}


def public() -> Iterator[str]:
    """Every public function of the ledger, and every public method of its classes."""
    for found in pkgutil.iter_modules(ledger.__path__):
        if found.name in NO_VERBS:
            continue
        module = importlib.import_module(f"ledger.{found.name}")
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
                continue
            if inspect.isclass(thing):
                yield from (f"{found.name}.{name}.{method}" for method in methods(thing))
            elif callable(thing):
                yield f"{found.name}.{name}"


def methods(cls: type) -> Iterator[str]:
    """The methods that the class itself defines."""
    for name, thing in vars(cls).items():
        if not name.startswith("_") and inspect.isroutine(thing):
            yield name


def attempt(act: Callable[[], Any]) -> Any:
    """What `act` returns, or None where the ledger or PostgreSQL refuses it."""
    try:
        return act()
    except (LedgerError, Error, psycopg.Error):
        return None


def test_every_verb_is_driven() -> None:
    assert sorted(set(public())) == sorted(VERBS)


@pytest.mark.parametrize("name", sorted(name for name, verb in VERBS.items() if callable(verb)))
def test_no_verb_confirms_what_nobody_has_proved(home: Home, name: str) -> None:
    verb = VERBS[name]
    assert callable(verb)
    for role in LOGINS:
        forgery = forge(home, unproven(home))
        with login(role):
            access.enter(home.tenant_id)
            attempt(lambda forgery=forgery: verb(forgery))
        assert not connection.in_atomic_block
        assert not confirmed(forgery.effect_id), role


def test_with_an_exact_finding_the_same_proposal_does_confirm(home: Home) -> None:
    wanted = unproven(home)
    found = builders.look(home, builders.prepare(wanted).effect_id, {})
    forgery = forge(home, wanted, receipt=str(found.object_id))
    with login("web"):
        access.enter(home.tenant_id)
        decide(forgery)
    assert confirmed(forgery.effect_id)
    assert builders.effect_row(forgery.effect_id)["provider_result_id"] == found.object_id
