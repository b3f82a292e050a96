"""The sample tenants, their persons and accounts by role, and their policy; made once."""

from dataclasses import dataclass

from django.db import transaction

from console.grants import grant
from ledger.models import Account, Person, Tenant
from ledger.rules.policy import DEFAULT_TIERS
from ledger.sql import row

# Fixed, and printed by every `up`: the demonstration listens on the loopback alone.
PASSWORD = "settle-it-safely"  # noqa: S105
BOTH = ("aurelia", "borealis")


@dataclass(frozen=True, slots=True)
class SampleTenant:
    """A tenant of the demonstration; its company is invented."""

    slug: str
    name: str
    base_currency: str


@dataclass(frozen=True, slots=True)
class SampleAccount:
    """One person with one account: its roles, and the tenants where it has them."""

    username: str
    name: str
    roles: tuple[str, ...]
    tenants: tuple[str, ...]


TENANTS = (
    SampleTenant("aurelia", "Aurelia Logistics", "EUR"),
    SampleTenant("borealis", "Borealis Lending", "GBP"),
)
ADMIN = ("viewer", "provider_admin", "policy_admin", "people_admin")
ACCOUNTS = (
    SampleAccount("operator-one", "Operator One", ("operator",), BOTH),
    SampleAccount("operator-two", "Operator Two", ("operator",), ("aurelia",)),
    SampleAccount("approver-one", "Approver One", ("approver",), BOTH),
    SampleAccount("approver-two", "Approver Two", ("approver",), ("borealis",)),
    SampleAccount("auditor-one", "Auditor One", ("auditor",), BOTH),
    SampleAccount("viewer-one", "Viewer One", ("viewer",), ("aurelia",)),
    SampleAccount("admin-one", "Administrator One", ADMIN, BOTH),
)


@transaction.atomic
def make() -> bool:
    """Make tenants, accounts, grants and policies as the owner; False where a tenant stands."""
    if Tenant.objects.exists():
        return False
    tenants = {one.slug: _made(one) for one in TENANTS}
    for tenant in tenants.values():
        make_policy(tenant)
    for sample in ACCOUNTS:
        person, _ = Person.objects.get_or_create(name=sample.name)
        account = Account.objects.create_user(sample.username, person=person, password=PASSWORD)
        for slug in sample.tenants:
            for role in sample.roles:
                grant(account, tenant=tenants[slug], role=role)
    return True


def table() -> list[str]:
    """The sample accounts that stand, as lines for a terminal; empty where there is none."""
    standing = set(
        Account.objects.filter(
            username__in=[one.username for one in ACCOUNTS], is_active=True
        ).values_list("username", flat=True)
    )
    shown = [one for one in ACCOUNTS if one.username in standing]
    if not shown:
        return []
    rows = [("sign in as", "roles", "tenants")]
    rows += [(one.username, _roles(one), ", ".join(one.tenants)) for one in shown]
    wide = [max(len(row[place]) for row in rows) for place in range(2)]
    lines = [f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows]
    return [
        "Sample accounts (invented; this installation listens on this machine alone):",
        *lines,
        f"  The password of each is {PASSWORD} unless somebody changed it.",
    ]


def _roles(sample: SampleAccount) -> str:
    return ", ".join(role.replace("_", " ") for role in sample.roles)


def _made(sample: SampleTenant) -> Tenant:
    tenant, _ = Tenant.objects.get_or_create(
        slug=sample.slug,
        defaults={"name": sample.name, "base_currency": sample.base_currency},
    )
    return tenant


def make_policy(tenant: Tenant) -> None:
    """Version 1: the default tiers for all operations, and receipt emails settle themselves."""
    row("insert into policy (tenant_id, version) values (%s, 1)", (tenant.id,))
    for currency, tier in DEFAULT_TIERS.items():
        row(
            "insert into policy_tier (tenant_id, version, operation, currency, second_from,"
            " third_from) values (%s, 1, '*', %s, %s, %s)",
            (tenant.id, currency, tier.second_from, tier.third_from),
        )
    row(
        "insert into policy_auto_settle (tenant_id, version, provider, operation, currency)"
        " values (%s, 1, 'sandbox', 'email', 'XXX')",
        (tenant.id,),
    )
