"""Contracts as stored: immutable versions by provider and operation, read once per process."""

from functools import lru_cache
from uuid import UUID

from ledger.errors import BadIntent
from ledger.rules.contract import Contract, contract_from_json, contract_to_json
from ledger.rules.digest import digest
from ledger.sql import row


@lru_cache(maxsize=1024)
def load(provider: str, operation: str, version: str) -> Contract:
    """The contract of that exact version. Raises BadIntent where it is not stored."""
    found = row(
        "select body from contract where provider = %s and operation = %s and version = %s",
        (provider, operation, version),
    )
    if found is None:
        raise BadIntent(f"There is no contract for {provider} {operation} {version}.")
    return contract_from_json(found[0])


@lru_cache(maxsize=1024)
def current(provider: str, operation: str) -> Contract:
    """The newest stored contract, as of this process's first question. Raises BadIntent."""
    found = row(
        "select version from contract where provider = %s and operation = %s"
        " order by added_at desc, version desc limit 1",
        (provider, operation),
    )
    if found is None:
        raise BadIntent(f"There is no contract for {provider} {operation}.")
    return load(provider, operation, found[0])


def store(contract: Contract) -> bool:
    """Add a version as the owner; False where it is stored already.

    Raises BadIntent where the same version stands with other content: a change needs a new version.
    """
    body = contract_to_json(contract)
    key = (contract.provider, contract.operation, contract.version)
    added = row(
        "insert into contract (provider, operation, version, body, digest, key_window_seconds,"
        " dispatch_within_seconds, lease_seconds, freeze_mode, has_amount)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing returning version",
        (
            *key,
            body,
            digest(body.encode()),
            contract.key_window_seconds,
            contract.dispatch_within_seconds,
            contract.lease_seconds,
            contract.freeze.value,
            contract.has_amount,
        ),
    )
    if added is None:
        stored = row(
            "select body from contract where provider = %s and operation = %s and version = %s", key
        )
        if stored is None or stored[0] != body:
            raise BadIntent(f"Contract {' '.join(key)} changed without a new version.")
    return added is not None


@lru_cache(maxsize=1024)
def base_currency(tenant_id: UUID) -> str:
    """The currency in which the tenant's queue is ordered; never used in a guard."""
    found = row("select base_currency from tenant where id = %s", (tenant_id,))
    return found[0] if found else "EUR"
