"""Makes the database logins, or prints the SQL for a DBA."""

import os
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError
from psycopg.conninfo import conninfo_to_dict

from console import logins


class Command(BaseCommand):
    """`manage.py db_roles [--print]`."""

    help = "Make the database logins that are absent; --print shows the SQL instead."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add --print."""
        parser.add_argument("--print", action="store_true", dest="only_print")

    def handle(self, **options: Any) -> None:
        """Print the SQL, or run it as the user of DATABASE_URL, who must be allowed to."""
        url = logins.database_url(logins.OWNER, os.environ)
        name = str(conninfo_to_dict(url).get("dbname") or "ascertain")
        if options["only_print"]:
            self.stdout.write("-- Give each login its password: alter role NAME password '…';")
            self.stdout.write(f"{logins.role_sql()}\n{logins.database_sql(name)}")
            return
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                logins.create_roles(connection)
        except psycopg.errors.InsufficientPrivilege as reason:
            raise CommandError(
                f"{reason.diag.message_primary}. Have a DBA run what "
                "`manage.py db_roles --print` shows."
            ) from None
        self.stdout.write(f"The logins exist: {', '.join(map(logins.role, logins.LOGINS))}.")
