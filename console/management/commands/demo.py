"""`demo OPERATION`: makes one effect through the order workflow and really kills its worker."""

import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.demo import strangers
from console.demo.sandbox import SandboxRefused, sandbox
from console.demo.scenes import FLOWS, KILLS, Scene
from console.demo.story import tell
from ledger import clock
from ledger.models import Tenant
from ledger.rules.money import BadAmount, parse


class Command(BaseCommand):
    """One effect, one kill point, told step by step; as the login `workflow`."""

    requires_system_checks = ()
    help = (
        "Make one effect and kill the worker that sends it, with SIGKILL, at the place you name. "
        "`demo stuck --file FILE.csv` sends five requests past the ledger and writes the rows "
        "that a system without one would be left with, for `intake`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The operation, its amount, and what shall go wrong."""
        parser.add_argument("operation", choices=(*FLOWS, "stuck"))
        parser.add_argument("--amount", default="129.00", help="in the currency's main unit")
        parser.add_argument("--currency", help="the tenant's own where it is not said")
        parser.add_argument("--tenant", default="aurelia", help="the tenant's slug")
        parser.add_argument("--kill", choices=KILLS, default="none", help="where the worker dies")
        parser.add_argument(
            "--fault", action="append", default=[], metavar="NAME",
            help="what the provider does, such as lose_answer, two_objects or wrong_amount",
        )  # fmt: skip
        parser.add_argument("--file", type=Path, default=Path("stuck.csv"), help="for stuck")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 0 when the effect came to rest as told, 1 when it did not in time."""
        if not settings.SANDBOX:
            raise CommandError("This is a real deployment; demonstrations are for the sandbox.")
        if options["operation"] == "stuck":
            self._stuck(options["file"])
            return
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant']}; run `manage.py seed`.")
        currency = (options["currency"] or tenant.base_currency).upper()
        scene = self._scene(options, currency=currency)
        try:
            rested = tell(scene, tenant=tenant, say=self.stdout.write)
        except (SandboxRefused, LookupError, OSError) as error:
            raise CommandError(str(error)) from error
        if not rested:
            raise CommandError("It did not come to rest in time.")

    def _scene(self, options: dict[str, Any], *, currency: str) -> Scene:
        operation = options["operation"]
        amount = "" if operation == "email" else options["amount"]
        try:
            if amount:
                parse(amount, currency)
        except BadAmount as error:
            raise CommandError(f"--amount: {error}") from error
        return Scene(
            number=f"{secrets.randbelow(10**8):08d}",
            flow=FLOWS[operation],
            amount=amount,
            kill=options["kill"],
            faults=dict.fromkeys(options["fault"], True),
            currency=currency,
        )

    def _stuck(self, file: Path) -> None:
        if file.exists():
            raise CommandError(f"{file} exists; name another with --file.")
        rows = strangers.fresh()
        sent_at = clock.now()
        strangers.play(rows, sandbox=sandbox())
        file.write_text(strangers.export(rows, sent_at=sent_at))
        self.stdout.write(f"Wrote {file}: five rows, four of which the provider has heard of.")
        self.stdout.write(f"Next: python3 manage.py intake {file} --tenant aurelia --dry-run")
