"""`manage.py grant`: a role's permissions in one tenant, on record, and none taken away."""

import io
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from console.people import ROLES
from ledger import access
from ledger.models import Account, Tenant, TenantGrant
from tests.builders import home, one_row, person

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    """Run the command as the owner; what it printed."""
    out = io.StringIO()
    call_command("grant", *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def tenant() -> Tenant:
    """A tenant of the test's own."""
    return Tenant.objects.get(id=home().tenant_id)


@pytest.fixture
def account() -> Account:
    """An account that holds nothing."""
    return Account.objects.get(id=person(None).account_id)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_gives_its_permissions_and_no_other(
    role: str, tenant: Tenant, account: Account
) -> None:
    run(role, account.username, "--tenant", tenant.slug)
    assert access.permissions(account.id, tenant.id) == ROLES[role]
    assert access.permissions(account.id, home().tenant_id) == frozenset()


def test_a_grant_is_on_record_and_a_second_one_changes_nothing(
    tenant: Tenant, account: Account
) -> None:
    for _ in range(2):
        said = run("viewer", account.username, "--tenant", tenant.slug)
    assert "held all of it already" in said
    kept = one_row(
        "select count(*) as n, min(body) as body, min(login) as login from record"
        " where tenant_id = %s and object_id = %s and kind = 'role_granted'",
        tenant.id,
        str(account.id),
    )
    assert kept == {
        "n": 1,
        "body": '{"permissions":["view"],"role":"viewer"}',
        "login": "ascertain_owner",
    }


def test_a_second_role_adds_to_the_first(tenant: Tenant, account: Account) -> None:
    run("auditor", account.username, "--tenant", tenant.slug)
    assert "added look_up, propose, reveal" in run(
        "operator", account.username, "--tenant", tenant.slug
    )
    assert access.permissions(account.id, tenant.id) == ROLES["auditor"] | ROLES["operator"]


def test_a_grant_that_has_ended_is_given_anew(tenant: Tenant, account: Account) -> None:
    run("viewer", account.username, "--tenant", tenant.slug)
    TenantGrant.objects.filter(user=account).update(expires_at="2020-01-01T00:00:00Z")
    assert access.permissions(account.id, tenant.id) == frozenset()
    run("viewer", account.username, "--tenant", tenant.slug)
    assert access.permissions(account.id, tenant.id) == {"view"}


def test_strangers_are_refused_with_what_to_do(tenant: Tenant, account: Account) -> None:
    with pytest.raises(CommandError, match="There is no tenant nowhere"):
        run("viewer", account.username, "--tenant", "nowhere")
    with pytest.raises(CommandError, match='Make it with --new "NAME"'):
        run("viewer", "nobody", "--tenant", tenant.slug)
    with pytest.raises(CommandError, match="leave --new out"):
        run("viewer", account.username, "--tenant", tenant.slug, "--new", "Somebody")
    Account.objects.using("default").filter(id=account.id).update(is_active=False)
    with pytest.raises(CommandError, match="is closed"):
        run("viewer", account.username, "--tenant", tenant.slug)


def test_a_new_account_gets_a_person_and_a_password_that_holds(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"u-{uuid4().hex[:12]}"
    words = ("operator", name, "--tenant", tenant.slug, "--new", "Operator Nine")
    monkeypatch.setattr("console.management.commands.grant.getpass", lambda _: "short")
    with pytest.raises(CommandError, match="too short"):
        run(*words)
    assert not Account.objects.filter(username=name).exists()
    monkeypatch.setattr("console.management.commands.grant.getpass", lambda _: "a long enough one")
    run(*words)
    made = Account.objects.get(username=name)
    assert made.check_password("a long enough one")
    assert made.person is not None
    assert made.person.name == "Operator Nine"
