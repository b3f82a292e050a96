"""Who is signed in, what their roles let them do, and which tenants they can see."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2s
from uuid import UUID

from django.http import HttpRequest

from ledger import access
from ledger.access import Acting
from ledger.errors import NotPermitted
from ledger.models import Account
from ledger.sql import row, rows

ROLES: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"view"}),
    "operator": frozenset({"view", "look_up", "propose", "reveal"}),
    "approver": frozenset({"view", "look_up", "approve", "reveal"}),
    "auditor": frozenset({"view", "audit"}),
    "provider_admin": frozenset({"configure_providers"}),
    "policy_admin": frozenset({"configure_policy"}),
    "people_admin": frozenset({"configure_people"}),
}

_SEAT = """
  select t.id, t.name, t.environment, t.base_currency, p.name, array_agg(distinct q.codename)
  from tenant_grant g
  join account a on a.id = g.user_id and a.is_active
  left join person p on p.id = a.person_id
  join auth_permission q on q.id = g.permission_id
  join tenant t on t.id = g.content_object_id
  where a.id = %s and t.slug = %s and (p.id is null or p.disabled_at is null)
    and (g.expires_at is null or g.expires_at > now())
  group by t.id, p.name"""

_GRANTERS = """
  select distinct p.name from tenant_grant g
  join account a on a.id = g.user_id and a.is_active
  join person p on p.id = a.person_id and p.disabled_at is null
  join auth_permission q on q.id = g.permission_id
  where g.content_object_id = %s and q.codename = 'configure_people'
    and (g.expires_at is null or g.expires_at > now())
  order by p.name limit 5"""


@dataclass(frozen=True, slots=True)
class Seat:
    """The signed-in account's place in one tenant: where it is, and what it may do there."""

    tenant_id: UUID
    slug: str
    tenant_name: str
    environment: str
    base_currency: str
    person_name: str | None
    permissions: frozenset[str]

    def may(self, permission: str) -> bool:
        """Whether the account holds `permission` here; the verbs ask again."""
        return permission in self.permissions


@dataclass(frozen=True, slots=True)
class TenantCount:
    """A tenant in the switcher: its address and how many unknown effects it has, at most `most`."""

    slug: str
    name: str
    environment: str
    unknown: int


def seat(account_id: UUID, *, slug: str) -> Seat | None:
    """The account's seat in the tenant named `slug`; None where it holds nothing there."""
    found = row(_SEAT, (account_id, slug))
    if found is None:
        return None
    tenant_id, name, environment, base_currency, person_name, permissions = found
    held = frozenset(permissions)
    return Seat(tenant_id, slug, name, environment, base_currency, person_name, held)


def account(request: HttpRequest) -> Account:
    """The account that signed in; LoginRequiredMiddleware lets nobody else through."""
    assert isinstance(request.user, Account)
    return request.user


def acting(request: HttpRequest) -> Acting:
    """Who acts by this request. Raises NotPermitted for an account without a person."""
    signed_in = account(request)
    if signed_in.person_id is None:
        raise NotPermitted("This account belongs to no person, so it cannot act here.")
    session = blake2s((request.session.session_key or "").encode(), digest_size=12).hexdigest()
    return Acting(signed_in.person_id, signed_in.id, session)


def granters(tenant_id: UUID) -> tuple[str, ...]:
    """The names of up to five persons who can grant rights in the tenant."""
    return tuple(name for (name,) in rows(_GRANTERS, (tenant_id,)))


def names(person_ids: frozenset[UUID]) -> dict[UUID, str]:
    """The names of persons by id, in one question; none where none are asked for."""
    if not person_ids:
        return {}
    return dict(rows("select id, name from person where id = any(%s)", (list(person_ids),)))


def tenants(account_id: UUID) -> list[TenantCount]:
    """Every tenant the account can see, by name, with its unknown effects, counted to 10,001."""
    found = []
    for tenant_id, slug, name, environment in access.tenants(account_id):
        access.enter(tenant_id)
        count = row(
            "select count(*) from (select 1 from effect_open where tenant_id = %s and state = 3"
            " limit 10001) counted",
            (tenant_id,),
        )
        found.append(TenantCount(slug, name, environment, count[0] if count else 0))
    return found
