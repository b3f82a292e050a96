"""Signing in: by name or address, over the login `auth`, closed to strangers and to guessing."""

from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connections
from django.test import Client
from django.urls import reverse

from ledger.models import Account

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough sentence"


@pytest.fixture
def account() -> Account:
    """An account of this test's own; no attempt is counted yet."""
    cache.clear()
    name = f"person-{uuid4().hex[:12]}"
    made = Account(username=name, email=f"{name}@example.com")
    made.set_password(PASSWORD)
    made.save(using="default")
    return made


def sign_in(client: Client, *, login: str, password: str = PASSWORD) -> int:
    """Send the form; returns the status: 302 is in, 200 is the form again."""
    return client.post(reverse("account_login"), {"login": login, "password": password}).status_code


def test_one_signs_in_by_name_or_by_address(client: Client, account: Account) -> None:
    assert sign_in(client, login=account.username) == 302
    client.post(reverse("account_logout"))
    assert sign_in(client, login=account.email.upper()) == 302
    assert client.session["_auth_user_id"] == str(account.pk)


def test_sessions_are_written_by_the_login_auth(client: Client, account: Account) -> None:
    with connections["auth"].cursor() as cursor:
        cursor.execute("select session_user")
        assert cursor.fetchone() == ("ascertain_auth",)
    assert sign_in(client, login=account.username) == 302
    assert Session.objects.db == "auth"
    assert Session.objects.filter(pk=client.session.session_key).exists()


def test_the_session_gets_a_new_name_when_one_signs_in(client: Client, account: Account) -> None:
    client.get(reverse("account_login"))
    before = client.session
    before["planted"] = True
    before.save()
    planted = before.session_key
    assert sign_in(client, login=account.username) == 302
    assert client.session.session_key != planted


def test_cookies_end_with_the_browser_and_are_closed_to_scripts(
    client: Client, account: Account
) -> None:
    assert sign_in(client, login=account.username) == 302
    for name in ("session", "csrf"):
        cookie = client.cookies[name]
        assert (cookie["max-age"], cookie["httponly"], cookie["samesite"]) == ("", True, "Lax")


def test_after_five_wrong_passwords_the_right_one_does_not_help(
    client: Client, account: Account
) -> None:
    for _ in range(5):
        assert sign_in(client, login=account.username, password="wrong") == 200
    assert sign_in(client, login=account.username) == 200


def test_an_account_that_was_closed_cannot_sign_in(client: Client, account: Account) -> None:
    Account.objects.using("default").filter(pk=account.pk).update(is_active=False)
    answer = client.post(
        reverse("account_login"), {"login": account.username, "password": PASSWORD}
    )
    assert "_auth_user_id" not in client.session
    assert answer.status_code in (200, 302)


def test_closing_an_account_ends_its_sessions_at_once(client: Client, account: Account) -> None:
    assert sign_in(client, login=account.username) == 302
    Account.objects.using("default").filter(pk=account.pk).update(is_active=False)
    answer = client.get("/")
    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        f"{reverse('account_login')}?next=/",
    )


@pytest.mark.parametrize("path", ["signup/", "sign-up/", "password/reset/", "sign-in/signup/"])
def test_nobody_makes_an_account_or_a_reset_of_their_own(client: Client, path: str) -> None:
    assert client.get(f"/{path}").status_code == 404
