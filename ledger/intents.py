"""The intent as a workflow states it, checked and turned into the columns of an effect."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger import contracts
from ledger.errors import BadIntent
from ledger.ids import new_id
from ledger.rules import digest, intent, money
from ledger.rules.contract import Contract, IntentView
from ledger.rules.states import State

MESSAGES = "XXX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One intended external action. `amount_minor` is in the currency's smallest unit.

    `request` is what is sent to the provider, a JSON object without floats. The environment is the
    tenant's; one that is named must be the same. `recipient_label` is
    what may be shown ("IBAN ending 4471"), `recipient_token` what is compared.
    """

    tenant_id: UUID
    intent_key: str
    provider: str
    operation: str
    request: Mapping[str, Any]
    account: str
    environment: str | None = None
    amount_minor: int | None = None
    currency: str = MESSAGES
    workflow_id: str | None = None
    step_id: str | None = None
    object_type: str | None = None
    object_ref: str | None = None
    recipient_token: str | None = None
    recipient_label: str | None = None
    initiator_id: UUID | None = None
    distinct_because: str | None = None
    first_attempt_at: datetime | None = field(default=None)


@dataclass(frozen=True, slots=True)
class Checked:
    """An intent that may be written: its columns, its request bytes and its contract."""

    values: Mapping[str, Any]
    request: bytes
    contract: Contract


def check(wanted: Intent) -> Checked:
    """`wanted` as columns of `effect`. Raises BadIntent, in words, for what cannot stand."""
    contract = contracts.current(wanted.provider, wanted.operation)
    try:
        key = intent.check_key(wanted.intent_key).text
        request = digest.canonical(dict(wanted.request))
        exponent = money.exponent_of(wanted.currency)
    except ValueError as error:
        raise BadIntent(str(error)) from error
    _check_amount(wanted, contract)
    if (wanted.object_type is None) != (wanted.object_ref is None):
        raise BadIntent("A business object is named by its type and its reference, or not at all.")
    values = {
        "tenant_id": wanted.tenant_id,
        "effect_id": new_id(),
        "intent_key": key,
        "request_digest": digest.digest(request),
        "digest_version": digest.DIGEST_VERSION,
        "amount_minor": wanted.amount_minor,
        "currency": wanted.currency,
        "exponent": exponent,
        "workflow_id": wanted.workflow_id,
        "step_id": wanted.step_id,
        "object_type": wanted.object_type,
        "object_ref": wanted.object_ref,
        "recipient_token": wanted.recipient_token,
        "recipient_label": wanted.recipient_label,
        "provider": wanted.provider,
        "operation": wanted.operation,
        "contract_version": contract.version,
        "account": wanted.account,
        "environment": wanted.environment,
        "provider_key": intent.provider_key(wanted.tenant_id, key),
        "initiator_id": wanted.initiator_id,
        "distinct_because": wanted.distinct_because,
    }
    return Checked(values=values, request=request, contract=contract)


def _check_amount(wanted: Intent, contract: Contract) -> None:
    if not contract.has_amount and (wanted.amount_minor, wanted.currency) != (None, MESSAGES):
        raise BadIntent(f"{contract.title} carries no amount.")
    if contract.has_amount and (wanted.amount_minor is None or wanted.currency == MESSAGES):
        raise BadIntent(f"{contract.title} needs an amount and a currency.")
    amount = wanted.amount_minor
    if amount is not None and (isinstance(amount, bool) or not 0 <= amount <= money.MAX_MINOR):
        raise BadIntent("An amount is a whole number of minor units from 0 to 10^15.")


VIEW_COLUMNS = (
    "provider",
    "contract_version",
    "intent_key",
    "operation",
    "account",
    "environment",
    "provider_key",
    "amount_minor",
    "currency",
    "recipient_token",
    "object_ref",
    "fence",
    "attempts",
    "first_attempt_at",
    "last_attempt_at",
    "server_error",
    "provider_result_id",
    "state",
    "key_until",
    "created_at",
)


def view(
    tenant_id: UUID,
    effect_id: UUID,
    columns: Mapping[str, Any],
    *,
    request: bytes | None,
    request_ids: tuple[str, ...] = (),
) -> IntentView:
    """What an adapter may know of an effect, from its `VIEW_COLUMNS`."""
    return IntentView(
        tenant=str(tenant_id),
        effect_id=str(effect_id),
        intent_key=columns["intent_key"],
        operation=columns["operation"],
        account=columns["account"],
        environment=columns["environment"],
        provider_key=str(columns["provider_key"]),
        request=request.decode() if request is not None else json.dumps(None),
        amount_minor=columns["amount_minor"],
        currency=columns["currency"],
        counterparty=columns["recipient_token"],
        object_ref=columns["object_ref"],
        fence=columns["fence"],
        attempts=columns["attempts"],
        first_dispatch_at=columns["first_attempt_at"],
        last_dispatch_at=columns["last_attempt_at"],
        fenced=columns["state"] != State.DISPATCHED,
        had_server_error=columns["server_error"],
        provider_object_id=columns["provider_result_id"],
        provider_request_ids=request_ids,
    )
