"""Tenants, persons, the accounts they sign in with, and what they may do where."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from guardian.models import UserObjectPermissionBase

from ledger.ids import new_id

PERMISSIONS = (
    ("view", "see the queue and cases"),
    ("look_up", "ask a provider"),
    ("propose", "decide and escalate"),
    ("approve", "sign another person's resolution"),
    ("reveal", "unmask a field"),
    ("audit", "read and export the history"),
    ("configure_providers", "change contracts"),
    ("configure_policy", "change tiers"),
    ("configure_people", "change roles"),
)


class Tenant(models.Model):
    """One walled customer of the deployment; every row of the record belongs to one."""

    id = models.UUIDField(primary_key=True, default=new_id)
    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    base_currency = models.CharField(max_length=3, default="EUR")
    environment = models.CharField(max_length=20, default="test")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "tenant"
        default_permissions = ()
        permissions = PERMISSIONS

    def __str__(self) -> str:
        return self.name


class Person(models.Model):
    """A human being: who proposes, approves and initiates. Never deleted, only disabled."""

    id = models.UUIDField(primary_key=True, default=new_id)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    disabled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "person"
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class AccountManager(BaseUserManager["Account"]):
    """Makes accounts; there is no superuser to make."""

    def create_user(self, username: str, **fields: Any) -> "Account":
        """A new account with a hashed `password`, or one that cannot sign in by password."""
        password = fields.pop("password", None)
        account = self.model(username=self.model.normalize_username(username), **fields)
        account.set_password(password)
        account.save(using=self._db)
        return account


class Account(AbstractBaseUser):
    """A way to sign in. An account without a person (a service) can neither propose nor approve."""

    id = models.UUIDField(primary_key=True, default=new_id)
    username = models.CharField(max_length=150, unique=True)
    email = models.EmailField(blank=True)
    person = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="accounts")
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(auto_now_add=True)
    zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(max_length=10, default="system")
    density = models.CharField(max_length=10, default="normal")

    objects: ClassVar[AccountManager] = AccountManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        db_table = "account"
        default_permissions = ()
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["person"],
                condition=models.Q(is_active=True),
                name="one_active_account_per_person",
            )
        ]

    def __str__(self) -> str:
        return self.username


class TenantGrant(UserObjectPermissionBase):
    """One permission of one account in one tenant: since when, by whom, until when, up to what.

    `limits` maps a currency to the highest amount in minor units; a missing one is not allowed.
    """

    content_object = models.ForeignKey(Tenant, on_delete=models.PROTECT)
    granted_at = models.DateTimeField(auto_now_add=True)
    granted_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT)
    expires_at = models.DateTimeField(null=True, blank=True)
    limits = models.JSONField(null=True, blank=True)

    class Meta(UserObjectPermissionBase.Meta):
        abstract = False
        db_table = "tenant_grant"
        default_permissions = ()
