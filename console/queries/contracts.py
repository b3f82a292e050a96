"""The contracts in force, and what each route of lookup has shown of late."""

from dataclasses import dataclass
from datetime import datetime

from ledger.rules.contract import Contract, contract_from_json
from ledger.sql import rows


@dataclass(frozen=True, slots=True)
class InForce:
    """The newest stored version of a provider's promises for an operation."""

    contract: Contract
    added_at: datetime


def in_force() -> tuple[InForce, ...]:
    """The newest contract of every provider and operation, by their names on screen."""
    found = rows(
        "select distinct on (provider, operation) body, added_at from contract"
        " order by provider, operation, added_at desc, version desc"
    )
    newest = [InForce(contract_from_json(body), added_at) for body, added_at in found]
    return tuple(sorted(newest, key=lambda c: (c.contract.provider_title, c.contract.title)))
