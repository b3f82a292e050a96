"""A person at a browser without script: signed in, in a tenant of the test's own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from console.people import ROLES
from ledger.ids import screen_id
from ledger.models import Account, Tenant
from tests import builders
from tests.builders import Home
from tests.logins import login
from tests.servers import DatabaseServer

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@dataclass(frozen=True, slots=True)
class Browser:
    """Asks for pages as one account; each request runs as the login web, as in a deployment."""

    home: Home
    slug: str
    client: Client

    def url(self, name: str, *args: Any) -> str:
        """The address of a page of this tenant."""
        return reverse(name, args=[self.slug, *args])

    def get(self, url: str, **headers: str) -> HttpResponse:
        """The answer to a GET; redirects are not followed."""
        with login("web"):
            return self.client.get(url, headers=headers)

    def post(self, url: str, given: dict[str, Any], **headers: str) -> HttpResponse:
        """The answer to a form; redirects are not followed."""
        with login("web"):
            return self.client.post(url, given, headers=headers)

    def page(self, name: str, *args: Any, query: str = "") -> str:
        """The text of a page that must be there."""
        answer = self.get(self.url(name, *args) + (f"?{query}" if query else ""))
        assert answer.status_code == 200, (answer.status_code, answer.content[:500])
        return answer.content.decode()

    def case(self, effect_id: UUID, query: str = "") -> str:
        """The text of a case."""
        return self.page("case", screen_id(effect_id), query=query)


@pytest.fixture
def home(database: DatabaseServer) -> Home:
    """A tenant of this test alone, and the contracts of the test bank."""
    builders.store_contracts()
    return builders.home()


@pytest.fixture
def browser_of(home: Home) -> Callable[..., Browser]:
    """browser_of("viewer") is a new person with that role in the test's tenant."""

    def sign_in(*roles: str, at: Home = home, permissions: Iterable[str] = ()) -> Browser:
        held = {name for role in roles for name in ROLES[role]} | set(permissions)
        person = builders.person(at.tenant_id, sorted(held))
        return browser(at, person.account_id)

    return sign_in


@pytest.fixture
def operator(home: Home) -> Browser:
    """The tenant's own operator."""
    return browser(home, home.operator.account_id)


def browser(home: Home, account_id: UUID) -> Browser:
    """A browser in which the account is signed in."""
    client = Client()
    client.force_login(Account.objects.get(pk=account_id), backend=BACKEND)
    slug = Tenant.objects.get(pk=home.tenant_id).slug
    return Browser(home, slug, client)
