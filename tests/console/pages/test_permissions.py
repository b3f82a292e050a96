"""Every address, asked by every role, in its own tenant and in a foreign one."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console.people import ROLES
from ledger import clock
from ledger.ids import new_id, screen_id
from tests import builders
from tests.builders import Home
from tests.console.pages.conftest import Browser
from tests.logins import login

pytestmark = pytest.mark.django_db

# Every address of the console and the permission it takes; an address that is not here fails.
IN_TENANT = {
    "queue": "view",
    "queue_pulse": "view",
    "effects": "view",
    "case": "view",
    "search": "view",
    "providers": "view",
    "lookup": "view",
}
POSTED = {"lookups": "look_up", "resolutions": "propose", "escalations": "propose"}
SIGNED_IN = {"home", "tenants", "preferences", "account_reauthenticate"}
OPEN = {"healthz", "readyz", "account_login", "account_logout", "account_inactive"}
TABLES = {"lookups": "lookup", "resolutions": "resolution", "escalations": "escalation"}
WITH_EFFECT = {"case", "lookups", "resolutions", "escalations", "lookup"}


def names(patterns: list[Any]) -> Iterator[str]:
    """The name of every address, nested ones too."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or str(pattern.pattern)


def address(slug: str, name: str, effect_id: Any) -> str:
    """The address of a page in a tenant, about an effect where it is about one."""
    args: list[Any] = [slug]
    args += [screen_id(effect_id)] if name in WITH_EFFECT else []
    args += [uuid4()] if name == "lookup" else []
    return reverse(name, args=args)


def test_every_address_is_in_the_matrix() -> None:
    found = set(names(get_resolver().url_patterns))
    assert found == set(IN_TENANT) | set(POSTED) | SIGNED_IN | OPEN


@pytest.mark.parametrize("name", sorted({*IN_TENANT, *POSTED, *SIGNED_IN}))
def test_nobody_sees_a_page_without_signing_in(home: Home, name: str) -> None:
    url = reverse(name) if name in SIGNED_IN else address("t", name, new_id())
    with login("web"):
        answer = Client().get(url)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_page_is_seen_by_those_who_may_view(
    browser_of: Callable[..., Browser], home: Home, role: str
) -> None:
    effect_id, browser = builders.unknown(home), browser_of(role)
    may = "view" in ROLES[role]
    for name in IN_TENANT:
        answer = browser.get(address(browser.slug, name, effect_id))
        allowed = (404,) if name == "lookup" else (200, 204)
        assert answer.status_code in (allowed if may else (403,)), name


@pytest.mark.parametrize("role", sorted(ROLES))
def test_an_act_takes_its_permission(
    browser_of: Callable[..., Browser], home: Home, role: str
) -> None:
    browser = browser_of(role)
    for name, permission in POSTED.items():
        effect_id = builders.unknown(home)
        if name == "resolutions":
            builders.look(home, effect_id)
        before = traces(effect_id)
        answer = browser.post(address(browser.slug, name, effect_id), complete(name))
        done = {kind for kind, count in traces(effect_id).items() if count > before[kind]}
        if permission in ROLES[role]:
            assert (answer.status_code, done) == (302 if name == "lookups" else 303, {name})
        else:
            assert (answer.status_code, done) == (403, set())


def traces(effect_id: Any) -> dict[str, int]:
    """How many rows of each act the effect has."""
    return {
        name: builders.one_row(
            f"select count(*) as n from {table} where effect_id = %s", effect_id
        )["n"]
        for name, table in TABLES.items()
    }


def complete(name: str) -> dict[str, Any]:
    """A form that lacks nothing but a permission; the decision relies on an absence in E4."""
    form = {"command": str(uuid4()), "version": "3", "words": "Nobody there, asked twice."}
    if name == "escalations":
        later = f"{clock.now() + timedelta(hours=2):%Y-%m-%dT%H:%M}"
        return form | {"owner": "Payments L2", "reason_code": "other", "next_check_at": later}
    decision = {"decision": "reject", "reason_code": "absence_proven", "evidence": ["4"]}
    return form | decision | {"version": "4"}


@pytest.mark.parametrize("name", sorted({*IN_TENANT, *POSTED}))
def test_a_foreign_tenant_is_not_there(operator: Browser, name: str) -> None:
    foreign = builders.home()
    effect_id = builders.unknown(foreign)
    theirs = builders.Tenant.objects.get(pk=foreign.tenant_id).slug
    send = operator.post if name in POSTED else lambda url, _: operator.get(url)
    there = send(address(theirs, name, effect_id), complete(name))
    nowhere = send(address("no-such-tenant", name, new_id()), complete(name))
    assert (there.status_code, nowhere.status_code) == (404, 404)
    assert there.content == nowhere.content


@pytest.mark.parametrize("name", sorted(WITH_EFFECT))
def test_a_foreign_effect_is_not_there_under_ones_own_tenant(operator: Browser, name: str) -> None:
    effect_id = builders.unknown(builders.home())
    send = operator.post if name in POSTED else lambda url, _: operator.get(url)
    there = send(address(operator.slug, name, effect_id), complete(name))
    nowhere = send(address(operator.slug, name, new_id()), complete(name))
    assert (there.status_code, nowhere.status_code) == (404, 404)
    assert there.content == nowhere.content


@pytest.mark.parametrize("name", sorted(POSTED))
def test_an_act_is_not_done_by_following_a_link(operator: Browser, name: str) -> None:
    effect_id = builders.unknown(operator.home)
    before = builders.effect_row(effect_id)["version"]
    answer = operator.get(f"{address(operator.slug, name, effect_id)}?{urlencode(complete(name))}")
    assert answer.status_code == 302
    assert answer.headers["Location"] == operator.url("case", screen_id(effect_id))
    assert builders.effect_row(effect_id)["version"] == before
    assert not builders.facts.Lookup.objects.filter(effect_id=effect_id).exists()


@pytest.mark.parametrize("name", sorted(IN_TENANT))
def test_reading_writes_nothing(operator: Browser, name: str) -> None:
    effect_id = builders.unknown(operator.home)
    with connection.cursor() as cursor:
        cursor.execute("set default_transaction_read_only = on")
    try:
        answer = operator.get(address(operator.slug, name, effect_id))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("set default_transaction_read_only = off")
    assert answer.status_code in (200, 204, 404)


def test_who_may_not_view_is_told_what_is_missing_and_who_can_grant_it(
    browser_of: Callable[..., Browser], home: Home
) -> None:
    builders.person(home.tenant_id, ["configure_people"])
    answer = browser_of("policy_admin").get(browser_of("viewer").url("queue"))
    text = answer.content.decode()
    assert answer.status_code == 403
    assert "does not have the right to see the queue and its cases" in text
    assert "A person" in text
