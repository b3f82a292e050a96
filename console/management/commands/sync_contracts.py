"""`sync_contracts`: store every contract that the providers declare, as the owner."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

import providers
from ledger import contracts
from ledger.errors import BadIntent


class Command(BaseCommand):
    """Adds new versions; a stored version is never changed, so a change needs a new version."""

    requires_system_checks = ()
    help = "Store the contracts that the providers declare. Running it again adds nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Add what is missing and say so. Raises CommandError where a stored version differs."""
        declared = providers.contracts()
        added = 0
        for contract in declared:
            try:
                is_new = contracts.store(contract)
            except BadIntent as refusal:
                raise CommandError(refusal.message) from refusal
            if is_new:
                added += 1
                name = f"{contract.provider} {contract.operation} {contract.version}"
                self.stdout.write(f"added {name}: {contract.title}")
        self.stdout.write(f"{added} added, {len(declared) - added} stored already.")
