"""Around the tenant's pages: signing in, the switcher, settings, all effects, contracts, errors."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from console.views import queue as queue_view
from ledger.models import Account, Tenant
from tests import builders
from tests.builders import Home
from tests.console.pages.conftest import Browser, browser
from tests.logins import login

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(home: Home) -> Account:
    """An account with a password, in the test's tenant."""
    found = Account.objects.get(pk=home.operator.account_id)
    found.set_password("correct horse battery")
    with login("auth"):
        Account.objects.using("default").filter(pk=found.pk).update(password=found.password)
    return found


def sign_in(account: Account, password: str, **more: str) -> Any:
    """The answer to the sign-in form, and the client it was sent from."""
    client = Client()
    given = {"login": account.username, "password": password, **more}
    with login("web"):
        return client.post(reverse("account_login"), given), client


def test_the_way_in_leads_to_the_only_queue(account: Account, home: Home) -> None:
    answer, client = sign_in(account, "correct horse battery")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    with login("web"):
        onward = client.get("/")
    slug = Tenant.objects.get(pk=home.tenant_id).slug
    assert onward.headers["Location"] == f"/t/{slug}/queue"


def test_a_wrong_password_is_explained_and_the_name_kept(account: Account) -> None:
    answer, _ = sign_in(account, "wrong")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert f'value="{account.username}"' in page
    assert 'role="alert"' in page


def test_six_wrong_passwords_lock_the_name_for_a_while(account: Account) -> None:
    for _ in range(5):
        sign_in(account, "wrong")
    answer, _ = sign_in(account, "correct horse battery")
    assert answer.status_code in (200, 429)
    assert "Too many" in answer.content.decode()


def test_signing_in_leads_nowhere_else(account: Account) -> None:
    answer, _ = sign_in(account, "correct horse battery", next="https://elsewhere.example/")
    assert answer.headers["Location"] == "/"


def test_signing_out_ends_the_session_and_takes_a_form(operator: Browser) -> None:
    assert operator.get(reverse("account_logout")).status_code == 200
    assert operator.get(operator.url("queue")).status_code == 200
    assert operator.post(reverse("account_logout"), {}).status_code == 302
    assert operator.get(operator.url("queue")).status_code == 302


def test_the_switcher_counts_what_is_unknown_in_each_tenant(operator: Browser) -> None:
    second = builders.home()
    builders.grant(operator.home.operator.account_id, second.tenant_id, builders.OPERATOR)
    Tenant.objects.filter(pk=second.tenant_id).update(name="Borealis")
    builders.unknown(second)
    builders.unknown(second)
    builders.unknown(builders.home())
    page = operator.get(reverse("tenants")).content.decode()
    assert re.findall(r"(\d+) unknown|nothing unknown", page) == ["", "2"]
    assert operator.get("/").headers["Location"] == "/tenants"


def test_an_account_without_rights_is_told_so(browser_of: Callable[..., Browser]) -> None:
    page = browser_of().get(reverse("tenants")).content.decode()
    assert "has no rights in any tenant yet" in page


def test_a_right_that_has_ended_opens_nothing(operator: Browser) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "update tenant_grant set expires_at = now() where user_id = %s",
            [operator.home.operator.account_id],
        )
    assert operator.get(operator.url("queue")).status_code == 404


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"theme": "dark"}, 'data-theme="dark"'),
        ({"density": "compact"}, 'data-density="compact"'),
        ({"zone": "Europe/Berlin"}, 'data-zone="Europe/Berlin"'),
    ],
)
def test_settings_are_kept_with_the_account_and_rendered_by_the_server(
    operator: Browser, given: dict[str, str], shown: str
) -> None:
    back = operator.url("queue")
    answer = operator.post(reverse("preferences"), given | {"next": back})
    assert (answer.status_code, answer.headers["Location"]) == (302, back)
    assert shown in operator.page("queue")


@pytest.mark.parametrize(
    "given", [{"zone": "Mars/Olympus"}, {"theme": "neon"}, {"density": "x"}, {"zone": "../etc"}]
)
def test_a_setting_that_is_none_is_refused(operator: Browser, given: dict[str, str]) -> None:
    before = Account.objects.get(pk=operator.home.operator.account_id)
    assert operator.post(reverse("preferences"), given).status_code == 422
    after = Account.objects.get(pk=operator.home.operator.account_id)
    assert (before.zone, before.theme, before.density) == (after.zone, after.theme, after.density)


@pytest.mark.parametrize(
    "back", ["https://elsewhere.example", "//elsewhere.example", "javascript:x"]
)
def test_settings_lead_back_to_our_own_pages_only(operator: Browser, back: str) -> None:
    answer = operator.post(reverse("preferences"), {"theme": "dark", "next": back})
    assert answer.headers["Location"] == "/"


def test_all_effects_are_listed_newest_first_by_state(operator: Browser) -> None:
    first, second = builders.confirmed(operator.home), builders.declined(operator.home)
    builders.unknown(operator.home)
    settled = operator.page("effects")
    found = re.findall(r'href="[^"]+/(eff_[a-z2-7]+)"', settled)
    assert found == [builders.facts.Effect and ids(second), ids(first)]
    assert "the provider refused it: card_declined" in settled
    assert len(re.findall(r"/eff_", operator.page("effects", query="state=confirmed"))) == 1


def ids(effect_id: Any) -> str:
    """An effect's id as shown."""
    from ledger.ids import screen_id

    return screen_id(effect_id)


def test_older_effects_follow_without_a_gap(operator: Browser) -> None:
    made = [ids(builders.prepared(operator.home)) for _ in range(53)]
    first = operator.page("effects", query="state=prepared")
    onward = re.search(r'href="([^"]+)" rel="next"', first)
    assert onward is not None
    second = operator.get(onward[1].replace("&amp;", "&")).content.decode()
    seen = re.findall(r"/(eff_[a-z2-7]+)\"", first) + re.findall(r"/(eff_[a-z2-7]+)\"", second)
    assert seen == made[::-1]


@pytest.mark.parametrize("query", ["state=lost", "older=x", "colour=red"])
def test_an_unknown_filter_of_all_effects_is_named(operator: Browser, query: str) -> None:
    assert "It was left out." in operator.page("effects", query=query)


def test_contracts_are_told_in_sentences(operator: Browser) -> None:
    page = operator.page("providers")
    assert "Test Bank keeps a key for 1 d" in page
    assert "Finds, and proves absence" in page
    assert "card_declined" in page


def test_an_error_of_ours_says_whether_anything_was_recorded(
    operator: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.client.raise_request_exception = False

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(queue_view.queue, "facets", broken)
    answer = operator.get(operator.url("queue"))
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "Nothing has changed." in page
    assert re.search(r"Reference <code>[0-9A-F]{8}</code>", page)
    assert "RuntimeError" not in page


@pytest.mark.parametrize(
    ("error", "words"),
    [(RuntimeError("x"), "Not recorded"), (OperationalError("x"), "We cannot tell whether")],
)
def test_a_form_that_breaks_says_what_is_known_of_it(
    operator: Browser, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    from console.views import decisions

    def broken(*_: Any, **__: Any) -> None:
        raise error

    operator.client.raise_request_exception = False
    monkeypatch.setattr(decisions.resolutions, "propose", broken)
    effect_id = builders.unknown(operator.home)
    given = {"command": "0" * 32, "version": "3", "decision": "accept"}
    answer = operator.post(operator.url("resolutions", ids(effect_id)), given)
    page = answer.content.decode()
    assert answer.status_code == 500
    assert words in page
    assert f'href="{operator.url("case", ids(effect_id))}"' in page


def test_a_page_names_the_person_and_their_role(operator: Browser) -> None:
    page = operator.page("queue")
    assert "A person" in page
    assert "operator" in page


def test_another_browser_of_the_same_tenant_sees_the_same_effects(operator: Browser) -> None:
    other = builders.person(operator.home.tenant_id, ["view"])
    effect_id = builders.unknown(operator.home)
    assert ids(effect_id) in browser(operator.home, other.account_id).page("queue")
