"""Intents as the ledger would hand them to an adapter, for any contract."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from ledger.rules.contract import Contract, IntentView


def view_of(contract: Contract, *, sent_at: datetime | None = None, **changes: Any) -> IntentView:
    """A first attempt of a fresh intent under `contract`, sent at `sent_at` (default: now).

    `request` follows amount, currency and counterparty unless it is among `changes`.
    """
    at = sent_at or datetime.now(UTC)
    view = IntentView(
        tenant=str(uuid4()),
        effect_id=str(uuid4()),
        intent_key=f"order:{uuid4().hex[:12]}:{contract.operation}:v1",
        operation=contract.operation,
        account="acct_north",
        environment="sandbox",
        provider_key=str(uuid4()),
        request="",
        amount_minor=12_900 if contract.has_amount else None,
        currency="EUR" if contract.has_amount else None,
        counterparty="cus_7f3a",
        object_ref=None,
        fence=1,
        attempts=1,
        first_dispatch_at=at,
        last_dispatch_at=at,
        fenced=False,
        had_server_error=False,
    )
    view = replace(view, **changes)
    return view if view.request else replace(view, request=request_of(view))


def request_of(view: IntentView) -> str:
    """The canonical request of `view`."""
    said = {"amount": view.amount_minor, "currency": view.currency}
    body = {name: value for name, value in said.items() if value is not None}
    body |= {"counterparty": view.counterparty}
    return json.dumps(body, sort_keys=True, separators=(",", ":"))
