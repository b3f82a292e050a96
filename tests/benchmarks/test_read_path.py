"""What pages cost to read: buffers by statement, tables read whole, statements by page (R, H3)."""

from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client

from console.queries import queue
from console.queries.asking import Asked, Sort, View
from console.queries.queue import ORDERS
from ledger import access, clock
from ledger.ids import screen_id
from ledger.models import Account, Tenant
from tests.benchmarks.filling import OPEN, Filled
from tests.benchmarks.plans import Plan, Plans, watched
from tests.builders import OPERATOR, Home, grant, home, look, one_row, unknown
from tests.logins import login

BIG = frozenset({"effect", "entry", "payload", "effect_ref", "lookup", "resolution"})
OFTEN = 8  # more than the five after which the server may plan without looking at the values


def pages(at: Home, asked: Asked) -> Plan:
    """The worst of many readings of one page of the queue, by the web login."""
    with watched() as plans, login("web"):
        for _ in range(OFTEN):
            with transaction.atomic():
                access.enter(at.tenant_id)
                plans.ran.clear()
                page = queue.page(at.tenant_id, asked=asked, now=clock.now())
                assert len(page.rows) == queue.PAGE
    return plans.worst


def deep(at: Home, sort: Sort) -> Asked:
    """The address of the last full page in this order."""
    direction = "desc" if sort is Sort.NEWEST else ""
    names = ", ".join(f"{name} {direction}" for name, _ in ORDERS[sort])
    found = one_row(
        f"select effect_id from effect_open where tenant_id = %s and state = 3"
        f" order by {names} offset %s limit 1",
        at.tenant_id,
        OPEN - queue.PAGE - 2,
    )
    return Asked(sort=sort, after=queue.of(at.tenant_id, effect_id=found["effect_id"], sort=sort))


@pytest.mark.parametrize("sort", [sort for sort in Sort if sort is not Sort.NEWEST])
@pytest.mark.parametrize("depth", ["first", "deep"])
def test_a_page_of_the_queue_touches_at_most_60_buffers_in_any_order_at_any_depth(
    filled: Filled, sort: Sort, depth: str
) -> None:
    asked = deep(filled.large, sort) if depth == "deep" else Asked(sort=sort)
    plan = pages(filled.large, asked)
    assert plan.buffers <= 60, plan
    assert not plan.whole


def test_all_open_effects_are_paged_as_cheaply(filled: Filled) -> None:
    plan = pages(filled.large, Asked(view=View.OPEN, sort=Sort.NEWEST))
    assert plan.buffers <= 60, plan


# --- every page of the console ---


@pytest.fixture(scope="module")
def browser(filled: Filled) -> Client:
    """Somebody signed in who may do what an operator may, in the large tenant."""
    client = Client()
    client.force_login(
        Account.objects.using("default").get(pk=filled.large.operator.account_id),
        backend="allauth.account.auth_backends.AuthenticationBackend",
    )
    return client


def addresses(at: Home) -> Iterator[str]:
    """Every page of the tenant, with the filters, orders and words that people use."""
    slug = Tenant.objects.get(id=at.tenant_id).slug
    one = one_row(
        "select effect_id, intent_key, workflow_id, object_ref from effect_open"
        " where tenant_id = %s order by effect_id offset 2000 limit 1",
        at.tenant_id,
    )
    case = screen_id(one["effect_id"])
    queued = [f"sort={sort}" for sort in Sort] + [f"view={view}" for view in View]
    queued += ["finding=exact", "provider=testbank", "amount=gte:500-EUR", "age=gte:2d",
               "key_left=lt:4h", "escalated=yes", f"chosen={case}"]  # fmt: skip
    yield from (f"/t/{slug}/queue?{words}" for words in queued)
    yield f"/t/{slug}/queue/pulse?count=1&entries=1&list=sort%3Dage"
    yield from (f"/t/{slug}/effects{rest}" for rest in (
        "", "?state=confirmed", f"?before={screen_id(one['effect_id'])}",
        f"/{screen_id(one['effect_id'])}"))  # fmt: skip
    sought = [one["intent_key"], one["intent_key"][:14], one["workflow_id"], one["object_ref"],
              "obj-nothing", "129.00 EUR", "IBAN ending 44", case]  # fmt: skip
    yield from (f"/t/{slug}/search?q={words}" for words in sought)
    yield from ("/", "/tenants", "/preferences", f"/t/{slug}/providers")


def read(browser: Client, path: str) -> Plans:
    """The statements of the page at `path`, read by the web login."""
    with watched() as plans, login("web"):
        answer = browser.get(path)
    assert answer.status_code in (200, 302), (path, answer.status_code)
    return plans


def test_no_statement_of_a_page_touches_1000_buffers_or_reads_a_big_table_whole(
    filled: Filled, browser: Client
) -> None:
    costly: list[str] = []
    for path in addresses(filled.large):
        for _ in range(OFTEN):
            plans = read(browser, path)
        assert plans.ran, path
        costly += [
            f"{path}: {plan.buffers} buffers, whole {sorted(plan.whole & BIG)}: {plan.statement}"
            for plan in plans.ran
            if plan.buffers > 1_000 or plan.whole & BIG
        ]
    assert not costly, "\n".join(costly)


# --- statements per page (H3) ---


def statements(browser: Client, path: str) -> int:
    """How many statements the page runs as web, once everything is warm."""
    read(browser, path)
    return len(read(browser, path).ran)


def signed_in(at: Home) -> Client:
    """The tenant's operator in a browser."""
    client = Client()
    client.force_login(
        Account.objects.using("default").get(pk=at.operator.account_id),
        backend="allauth.account.auth_backends.AuthenticationBackend",
    )
    return client


def paths(at: Home) -> list[str]:
    """The pages that list something."""
    slug = Tenant.objects.get(id=at.tenant_id).slug
    lists = (
        "queue queue?view=open queue?sort=age effects effects?state=confirmed providers"
        " search?q=invoice"
    )
    return [f"/t/{slug}/{rest}" for rest in lists.split()]


def test_a_page_runs_as_many_statements_for_fifty_rows_as_for_one(
    filled: Filled, browser: Client
) -> None:
    few = home()
    unknown(few)
    alone = signed_in(few)
    for short, long in zip(paths(few), paths(filled.large), strict=True):
        assert statements(alone, short) == statements(browser, long), long


def test_a_page_runs_as_many_statements_for_many_grants_as_for_few(filled: Filled) -> None:
    at = home()
    unknown(at)
    browser = signed_in(at)
    before = [statements(browser, path) for path in paths(at)]
    for _ in range(20):
        other = home()
        grant(at.operator.account_id, other.tenant_id, [*OPERATOR, "approve", "audit"])
    assert [statements(browser, path) for path in paths(at)] == before


def test_the_page_of_tenants_asks_for_each_tenants_count_alone(filled: Filled) -> None:
    """The wall shows one tenant at a time, so this one page costs two statements for each."""
    at, count = home(), 10
    browser = signed_in(at)
    before = statements(browser, "/tenants")
    for _ in range(count):
        grant(at.operator.account_id, home().tenant_id, OPERATOR)
    assert statements(browser, "/tenants") - before == 2 * count


def test_a_case_runs_as_many_statements_for_long_evidence_as_for_short(filled: Filled) -> None:
    at = home()
    browser, slug = signed_in(at), Tenant.objects.get(id=at.tenant_id).slug
    short, long = unknown(at), unknown(at)
    look(at, short)
    for _ in range(12):
        look(at, long)
    case = f"/t/{slug}/effects/{{}}"
    assert statements(browser, case.format(screen_id(long))) == statements(
        browser, case.format(screen_id(short)))  # fmt: skip
