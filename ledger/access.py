"""Who may: permissions of an account in a tenant, asked once per request and again in the verb."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import connection

from ledger.errors import NotPermitted
from ledger.rules.states import Login
from ledger.sql import row, rows

_LIVE = """
  from tenant_grant g
  join account a on a.id = g.user_id and a.is_active
  left join person p on p.id = a.person_id
  join auth_permission q on q.id = g.permission_id
  join tenant t on t.id = g.content_object_id
  where a.id = %s and (p.id is null or p.disabled_at is null)
    and (g.expires_at is null or g.expires_at > now())"""


# Which tenant a connection names outside any transaction, as long as the connection lives.
_named: WeakKeyDictionary[Any, UUID] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Acting:
    """The person who acts, through which account, in which session (a digest, never the key)."""

    person_id: UUID
    account_id: UUID
    session: str


def enter(tenant_id: UUID) -> None:
    """Name the tenant for row security: for this transaction, or for the connection outside one.

    Outside a transaction the name stays, so that a step remains one statement. The web login names
    tenants of many people and may do so inside a transaction only: raises RuntimeError otherwise.
    """
    local, held = connection.in_atomic_block, connection.connection
    if local:
        row("select set_config('ascertain.tenant', %s, true)", (str(tenant_id),))
        return
    if connection.settings_dict.get("USER") == Login.WEB:
        raise RuntimeError("the web login names a tenant inside a transaction only")
    if held is None or _named.get(held) != tenant_id:
        row("select set_config('ascertain.tenant', %s, false)", (str(tenant_id),))
        _named[connection.connection] = tenant_id


def forget(held: Any) -> None:
    """Take no tenant as named on `held` any more: somebody reset the connection."""
    _named.pop(held, None)


def permissions(account_id: UUID, tenant_id: UUID) -> frozenset[str]:
    """The names of the live permissions of `account_id` in `tenant_id`."""
    found = rows(f"select q.codename {_LIVE} and t.id = %s", (account_id, tenant_id))
    return frozenset(name for (name,) in found)


def tenants(account_id: UUID) -> list[tuple[UUID, str, str, str]]:
    """The tenants where `account_id` may see anything: (id, slug, name, environment), by name."""
    found = rows(
        f"select distinct t.id, t.slug, t.name, t.environment {_LIVE} order by t.name",
        (account_id,),
    )
    return [(tenant_id, slug, name, environment) for tenant_id, slug, name, environment in found]


def require(by: Acting, tenant_id: UUID, permission: str) -> None:
    """Return if `by` holds `permission` in `tenant_id` now. Raises NotPermitted."""
    if permission not in permissions(by.account_id, tenant_id):
        raise NotPermitted(permission=permission)
