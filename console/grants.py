"""Grants a role to an account in a tenant, as the owner, with a record of it."""

from uuid import UUID

from django.contrib.auth.models import Permission
from django.db import transaction

from console.people import ROLES
from ledger import audit
from ledger.models import Account, Person, Tenant, TenantGrant


@transaction.atomic
def grant(
    account: Account, *, tenant: Tenant, role: str, granted_by: Person | None = None
) -> tuple[str, ...]:
    """Give `account` the permissions of `role` in `tenant`; the names of those it lacked.

    Nothing is recorded where it had them all. `granted_by` is None for the installation itself.
    Raises KeyError for a role that is none of `console.people.ROLES`.
    """
    wanted = ROLES[role]
    held = set(
        TenantGrant.objects.filter(
            user=account, content_object=tenant, expires_at=None
        ).values_list("permission__codename", flat=True)
    )
    missing = tuple(sorted(wanted - held))
    for permission in _permissions(missing):
        # One that had an end, or has ended, becomes one without.
        TenantGrant.objects.update_or_create(
            user=account,
            content_object=tenant,
            permission=permission,
            defaults={"granted_by": granted_by, "expires_at": None},
        )
    if missing:
        _record(account.pk, tenant=tenant, role=role, permissions=missing)
    return missing


def _permissions(names: tuple[str, ...]) -> list[Permission]:
    return list(
        Permission.objects.filter(
            content_type__app_label="ledger", content_type__model="tenant", codename__in=names
        )
    )


def _record(account_id: UUID, *, tenant: Tenant, role: str, permissions: tuple[str, ...]) -> None:
    audit.record(
        "role_granted",
        tenant_id=tenant.id,
        by=None,
        object_type="account",
        object_id=str(account_id),
        facts={"role": role, "permissions": list(permissions)},
    )
