"""`grant ROLE USERNAME --tenant SLUG`: give an account a role in a tenant, as the owner."""

from argparse import ArgumentParser
from getpass import getpass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, transaction

from console.grants import grant
from console.people import ROLES
from ledger.models import Account, Person, Tenant


class Command(BaseCommand):
    """Adds the permissions of a role and files a record of it; it takes none away."""

    requires_system_checks = ()
    help = "Give an account the permissions of a role in a tenant."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The role, the account and the tenant."""
        parser.add_argument("role", choices=tuple(ROLES))
        parser.add_argument("username")
        parser.add_argument("--tenant", required=True, help="the tenant's slug")
        parser.add_argument(
            "--new", metavar="NAME", help="make the account, for a person of this name"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Grant it and say which permissions that added."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            known = ", ".join(Tenant.objects.order_by("slug").values_list("slug", flat=True))
            raise CommandError(f"There is no tenant {options['tenant']}; there are: {known}.")
        with transaction.atomic():
            account = self._account(options["username"], options["new"])
            added = grant(account, tenant=tenant, role=options["role"])
        words = f"added {', '.join(added)}" if added else "held all of it already"
        self.stdout.write(f"{account.username} is {options['role']} in {tenant.slug}: {words}.")

    def _account(self, username: str, name: str | None) -> Account:
        account = Account.objects.filter(username=username).first()
        if account and name:
            raise CommandError(f"There is an account {username} already; leave --new out.")
        if account and not account.is_active:
            raise CommandError(f"The account {username} is closed.")
        if account:
            return account
        if not name:
            raise CommandError(f'There is no account {username}. Make it with --new "NAME".')
        return self._made(username, name)

    def _made(self, username: str, name: str) -> Account:
        password = getpass(f"A password for {username}: ")
        try:
            validate_password(password, Account(username=username))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        person = Person.objects.create(name=name)
        return Account.objects.db_manager(DEFAULT_DB_ALIAS).create_user(
            username, person=person, password=password
        )
