"""`seed`: sample tenants and accounts on an empty database; `--fill` plays the demonstration."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.demo import escalating, filling, sample


class Command(BaseCommand):
    """Three parts, each run with the login that may do it; `up` runs the first two."""

    requires_system_checks = ()
    help = (
        "Make the sample tenants and accounts where the database has no tenant, and print the "
        "accounts. --fill plays the orders of the demonstration, --escalate the operator's part."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which part; without a word, the accounts."""
        part = parser.add_mutually_exclusive_group()
        part.add_argument("--fill", action="store_true", help="as the login workflow")
        part.add_argument("--escalate", action="store_true", help="as the login web")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the part. Running it again adds only what is missing."""
        if not settings.SANDBOX:
            raise CommandError("This is a real deployment; sample data is for the sandbox.")
        if options["fill"]:
            self._require("workflow")
            filling.fill(self.stdout.write)
        elif options["escalate"]:
            self._require("web")
            escalating.escalate(self.stdout.write)
        else:
            self._accounts()

    def _accounts(self) -> None:
        self._require("owner")
        if sample.make():
            self.stdout.write("Made the tenants of the demonstration.")
        for line in sample.table():
            self.stdout.write(line)

    def _require(self, login: str) -> None:
        if login != settings.LOGIN:
            raise CommandError(f"Run this with ASCERTAIN_LOGIN={login}.")
