"""The worker's tasks: no send under a lease in doubt, no lookup that stays open for ever."""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from billiard.pool import soft_timeout_sighandler

import providers
from console import tasks
from console.demo.sandbox import Sandbox
from ledger import contracts, lookups
from ledger.rules.contract import (
    Contract,
    IntentView,
    LagKind,
    Look,
    Phase,
    Route,
    RouteTerms,
    SendOutcome,
    Unclear,
)
from ledger.rules.findings import FindingCode
from ledger.rules.states import Cause, State
from providers.http import uptime_seconds
from tests.builders import (
    PAY,
    PROVIDER,
    Home,
    answer,
    effect_row,
    entries,
    found_for,
    home,
    one_row,
    open_row,
    prepared,
    store_contracts,
    unknown,
)
from tests.logins import login
from tests.servers import DatabaseServer, wait_until

pytestmark = pytest.mark.django_db

_BY_REQUEST_ID = RouteTerms(
    Route.BY_REQUEST_ID, LagKind.DOCUMENTED, 0, exhaustive=False, proves_absence=False
)
TWO_WAYS = replace(PAY, operation="pay_two_ways", routes=(*PAY.routes, _BY_REQUEST_ID))

Answers = Callable[[IntentView, Route], Look]


@pytest.fixture(scope="module")
def bank(database: DatabaseServer) -> None:
    """The contracts of the test bank, one of them with two routes."""
    store_contracts()
    contracts.store(TWO_WAYS)


@pytest.fixture
def at(bank: None) -> Home:
    """A tenant of this test's own."""
    return home()


# --- sending ---


def charge(at: Home) -> UUID:
    """A payment that the sandbox would make."""
    amount = {"amount_minor": 4_200, "currency": "EUR", "recipient_token": "cus_1"}
    request = {"amount": 4_200, "currency": "EUR", "counterparty": "cus_1"}
    return prepared(at, provider="sandbox", operation="charge", request=request, **amount)


def send(at: Home, effect_id: UUID) -> None:
    """The task, as the worker."""
    with login("worker"):
        tasks.send(str(at.tenant_id), str(effect_id), effect_row_key(effect_id))


def effect_row_key(effect_id: UUID) -> str:
    """The effect's intent key."""
    return str(effect_row(effect_id)["intent_key"])


def test_a_worker_sends_what_it_claimed_in_time(at: Home, prompt_sandbox: Sandbox) -> None:
    effect_id = charge(at)
    send(at, effect_id)
    assert effect_row(effect_id)["state"] == State.CONFIRMED
    assert len(prompt_sandbox.creates(effect_row_key(effect_id), tenant=str(at.tenant_id))) == 1


def test_a_claim_that_came_back_late_is_not_sent_under(
    at: Home, prompt_sandbox: Sandbox, database: DatabaseServer
) -> None:
    """The lease began when the claim was asked for, however long its answer took."""
    effect_id, contract = charge(at), providers.contract("sandbox", operation="charge")
    began = uptime_seconds()
    over_at = began + contract.lease_seconds - contract.deadline_seconds + 0.3

    def hold() -> None:
        with database.connect("owner", autocommit=False) as other:
            other.execute("select 1 from effect where effect_id = %s for update", (effect_id,))
            locked.set()
            wait_until(lambda: uptime_seconds() > over_at, what="the end of the time to send")

    locked = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(10)
    send(at, effect_id)
    holder.join(10)
    stored = effect_row(effect_id)
    assert (stored["state"], stored["cause"]) == (State.UNKNOWN, Cause.LEASE_LOST.value)
    assert prompt_sandbox.creates(stored["intent_key"], tenant=str(at.tenant_id)) == []


def test_the_provider_is_told_until_when_it_may_write(at: Home, bank_says: "Says") -> None:
    contracts.store(replace(PAY, operation="pay_briefly", deadline_seconds=2, lease_seconds=60))
    before = uptime_seconds()
    send(at, prepared(at, operation="pay_briefly"))
    # Absence counts from one deadline after the claim, so nothing may be written after it.
    assert before + 2 <= bank_says.send_by < uptime_seconds() + 2


# --- looking, with a provider of somebody else ---


class Says(ModuleType):
    """A provider module as somebody else may install it: it does what the test says."""

    NAME = PROVIDER
    CONTRACTS: tuple[Contract, ...] = ()

    def __init__(self) -> None:
        super().__init__(PROVIDER)
        self.by_route: dict[Route, Answers] = {}
        self.asked: list[Route] = []
        self.send_by = 0.0

    def dispatch(self, view: IntentView, contract: Contract, *, send_by: float) -> SendOutcome:
        """Remember until when, and do not answer."""
        self.send_by = send_by
        return Unclear(Cause.TIMEOUT, answer(status=None))

    def look(self, view: IntentView, route: Route, contract: Contract, *, now: Any) -> Look:
        """Answer as the test says."""
        self.asked.append(route)
        return self.by_route[route](view, route)


@pytest.fixture
def bank_says(monkeypatch: pytest.MonkeyPatch) -> Iterator[Says]:
    """The test bank's module, installed."""
    module = Says()
    monkeypatch.setitem(providers._BUILT_IN, PROVIDER, "tests.console.test_bank")
    monkeypatch.setitem(sys.modules, "tests.console.test_bank", module)
    providers.provider.cache_clear()
    yield module
    providers.provider.cache_clear()


def found(view: IntentView, route: Route) -> Look:
    """The object that agrees."""
    return replace(nothing(view, route), objects=(found_for(view),))


def nothing(view: IntentView, route: Route) -> Look:
    """An answer that holds no object."""
    return Look(
        route=route,
        asked_at=lookups.clock.now(),
        account=view.account,
        environment=view.environment,
        answer=answer(method="GET", phase=Phase.ANSWERED),
    )


def broken(view: IntentView, route: Route) -> Look:
    """A defect."""
    raise KeyError("data")


def endless(view: IntentView, route: Route) -> Look:
    """A look during which the task runs out of time, as Celery's pool says it."""
    signal.raise_signal(signal.SIGUSR1)
    raise AssertionError("the signal was not heard")


def unkeepable(view: IntentView, route: Route) -> Look:
    """An answer in which there is a character that PostgreSQL does not take."""
    return replace(nothing(view, route), answer=answer(method="GET", code="a\x00b"))


def look_up(at: Home, effect_id: UUID) -> UUID:
    """A scheduled lookup, carried out."""
    with login("worker"):
        ticket = lookups.request(at.tenant_id, effect_id, by=None)
        assert not ticket.joined
        tasks.look(str(at.tenant_id), str(ticket.lookup_id))
    return ticket.lookup_id


def finding_of(lookup_id: UUID) -> str | None:
    """What the lookup found, or None while it is open."""
    kept = one_row(
        "select e.finding from lookup l join entry e on e.effect_id = l.effect_id"
        " and e.tenant_id = l.tenant_id and e.no = l.entry_no"
        " where l.lookup_id = %s and l.finished_at is not null",
        lookup_id,
    )
    return kept.get("finding")


@pytest.fixture
def soft_limit() -> Iterator[None]:
    """The signal by which Celery's pool ends a task softly."""
    before = signal.signal(signal.SIGUSR1, soft_timeout_sighandler)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("fault", [broken, endless, unkeepable])
def test_a_look_that_raises_is_recorded_as_failing_and_counts(
    at: Home, bank_says: Says, soft_limit: None, fault: Answers
) -> None:
    effect_id = unknown(at)
    bank_says.by_route = {Route.BY_KEY: fault}
    lookup_id = look_up(at, effect_id)
    assert finding_of(lookup_id) == FindingCode.FAILING.value
    assert open_row(effect_id)["looks"] == 1
    bank_says.by_route = {Route.BY_KEY: found}
    assert finding_of(look_up(at, effect_id)) == FindingCode.EXACT.value


def test_a_provider_that_is_not_installed_is_a_look_that_fails(at: Home) -> None:
    assert finding_of(look_up(at, unknown(at))) == FindingCode.FAILING.value


def test_the_next_route_is_asked_after_one_that_broke(
    at: Home, bank_says: Says, caplog: pytest.LogCaptureFixture
) -> None:
    effect_id = unknown(at, operation=TWO_WAYS.operation)
    bank_says.by_route = {Route.BY_KEY: broken, Route.BY_REQUEST_ID: found}
    with caplog.at_level(logging.ERROR, logger="console.tasks"):
        lookup_id = look_up(at, effect_id)
    assert bank_says.asked == [Route.BY_KEY, Route.BY_REQUEST_ID]
    assert finding_of(lookup_id) == FindingCode.EXACT.value
    assert [kind for _, kind, *_ in entries(effect_id)][-2:] == ["lookup", "lookup"]
    (line,) = caplog.records
    assert (line.message, line.effect_id) == ("lookup.broke", str(effect_id))
    assert line.exc_info


def test_no_further_route_is_asked_once_the_time_is_used(
    at: Home, bank_says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_CLIMB_SECONDS", 0)
    bank_says.by_route = {Route.BY_KEY: broken, Route.BY_REQUEST_ID: found}
    lookup_id = look_up(at, unknown(at, operation=TWO_WAYS.operation))
    assert bank_says.asked == [Route.BY_KEY]
    assert finding_of(lookup_id) == FindingCode.FAILING.value


def test_lookups_that_break_end_in_an_escalation(at: Home, bank_says: Says) -> None:
    effect_id = unknown(at)
    bank_says.by_route = {Route.BY_KEY: broken}
    for _ in PAY.schedule_seconds:
        look_up(at, effect_id)
    with login("worker"):
        tasks.attend(str(at.tenant_id), str(effect_id))
    assert entries(effect_id)[-1][1] == "escalated"


def test_the_time_for_routes_ends_well_before_the_tasks_own(settings: Any) -> None:
    assert tasks._CLIMB_SECONDS < settings.CELERY_TASK_SOFT_TIME_LIMIT
