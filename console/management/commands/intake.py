"""`intake FILE.csv`: anybody's stuck rows become unknown effects, once, as the login `worker`."""

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

import providers
from console.intake.row import OPERATIONS, Defaults
from console.intake.source import NAMES, BadFile, Source, read
from console.intake.taking import Fate, file_record, take
from ledger.models import Tenant


class Command(BaseCommand):
    """Reads the file whole, then takes its lines in one by one and reports on each."""

    requires_system_checks = ()
    help = (
        "Take the rows of a CSV file in as unknown effects. They are never sent from here: the "
        "console looks them up at the provider, and a person settles them on what it says."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, the tenant, and what the file does not say itself."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", required=True, help="the tenant's slug")
        parser.add_argument("--dry-run", action="store_true", help="check all, write nothing")
        parser.add_argument("--operation", choices=tuple(OPERATIONS), help="where no column says")
        parser.add_argument("--currency", help="where no column says")
        parser.add_argument("--provider", choices=providers.names(), help="where no column says")
        parser.add_argument("--account", default="acct_main", help="our account at the provider")
        parser.add_argument(
            "--map", nargs="+", action="extend", default=[], metavar="OUR=THEIRS",
            help=f"name a column the guess misses; ours are {', '.join(NAMES)}",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 0 when every line is in the ledger, 1 when one was refused or the file was."""
        defaults = self._defaults(options)
        try:
            source = read(options["file"], mapped=_mapping(options["map"]))
        except BadFile as error:
            raise CommandError(f"{error} Nothing was taken in.") from error
        self._say_columns(source)
        counts: Counter[Fate] = Counter()
        for report in take(source, defaults=defaults, dry_run=options["dry_run"]):
            counts[report.fate] += 1
            name = "would be taken in" if self._would(report.fate, options) else report.fate
            self.stdout.write(f"line {report.no:<5} {report.id:<20} {name}: {report.words}")
        if not options["dry_run"]:
            file_record(source, defaults=defaults, counts=counts)
        self._say_totals(counts, dry_run=options["dry_run"])

    def _defaults(self, options: dict[str, Any]) -> Defaults:
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            known = ", ".join(Tenant.objects.order_by("slug").values_list("slug", flat=True))
            raise CommandError(f"There is no tenant {options['tenant']}; there are: {known}.")
        return Defaults(
            tenant_id=tenant.id,
            environment=tenant.environment,
            provider=options["provider"] or _only_provider(),
            account=options["account"],
            operation=options["operation"],
            currency=options["currency"],
        )

    def _say_columns(self, source: Source) -> None:
        pairs = ", ".join(f"{ours} from {theirs!r}" for ours, theirs in source.columns.items())
        self.stdout.write(f"{source.name}: {pairs}.")
        if source.unused:
            self.stdout.write(f"Kept with the line but not read: {', '.join(source.unused)}.")

    def _would(self, fate: Fate, options: dict[str, Any]) -> bool:
        return bool(options["dry_run"]) and fate is Fate.TAKEN_IN

    def _say_totals(self, counts: Counter[Fate], *, dry_run: bool) -> None:
        words = ", ".join(f"{counts[fate]} {fate}" for fate in Fate)
        self.stdout.write(f"Dry run, nothing was written: {words}." if dry_run else f"{words}.")
        if counts[Fate.REFUSED]:
            again = (
                "Correct the refused lines and run the same command again: no line counts twice."
            )
            raise CommandError(again, returncode=1)


def _mapping(pairs: list[str]) -> dict[str, str]:
    """OUR=THEIRS words as a mapping. Raises CommandError for a word that is no pair."""
    mapped = {}
    for pair in pairs:
        ours, mark, theirs = pair.partition("=")
        if not (ours and mark and theirs):
            raise CommandError(f"--map takes OUR=THEIRS, not {pair!r}.")
        mapped[ours.strip()] = theirs.strip()
    return mapped


def _only_provider() -> str:
    names = providers.names()
    if len(names) > 1:
        raise CommandError(f"Say --provider with one of {', '.join(names)}.")
    return names[0]
