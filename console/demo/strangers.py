"""A system without a ledger: what it sent to the sandbox, and the CSV of what it lost track of."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from console.demo.sandbox import Sandbox
from console.demo.staging import ACCOUNT

PATHS = {"charge": "/v1/charges", "payout": "/v1/payouts", "refund": "/v1/refunds"}
HEADER = (
    "payment_id", "type", "amount", "currency", "customer", "sent_at", "idempotency_key",
    "request_id", "status",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sent:
    """One row of the stranger's table. `arrives` is False for a request that got lost on its way.

    `amount_minor` is in cents; `key` and `request_id` are what it sent along, where it did.
    """

    id: str
    operation: str
    amount_minor: int
    customer: str
    key: str = ""
    request_id: str = ""
    arrives: bool = True

    def cells(self, sent_at: datetime | None) -> tuple[str, ...]:
        """The row as its export writes it."""
        amount = f"{self.amount_minor // 100}.{self.amount_minor % 100:02d}"
        moment = sent_at.isoformat(timespec="seconds") if sent_at else ""
        named = (self.id, self.operation, amount, "EUR", self.customer)
        return (*named, moment, self.key, self.request_id, "processing")


def known() -> tuple[Sent, ...]:
    """The five rows of `docs/examples/stuck.csv`; the demonstration's sandbox knows them all."""
    return (
        Sent("shop_7001", "charge", 74_90, "cus_s7001", key="shop-7001"),
        Sent("shop_7002", "payout", 318_00, "sup_s7002", request_id="req-shop-7002"),
        Sent("shop_7003", "charge", 19_99, "cus_s7003", request_id="req-shop-7003"),
        Sent("shop_7004", "charge", 52_00, "cus_s7004_card_declined", key="shop-7004"),
        Sent("shop_7005", "refund", 28_50, "cus_s7005", key="shop-7005"),
    )


def fresh() -> tuple[Sent, ...]:
    """Five rows nobody has seen; the last never arrived at the provider."""
    tail = uuid4().hex[:6]
    rows = [
        ("charge", 74_90, "cus", "key"),
        ("payout", 318_00, "sup", "request_id"),
        ("charge", 19_99, "cus", "request_id"),
        ("refund", 28_50, "cus", "key"),
        ("charge", 41_00, "cus", "key"),
    ]
    made = []
    for no, (operation, amount_minor, prefix, names) in enumerate(rows, start=1):
        name = f"shop_{tail}{no}"
        extra = {names: f"shop-{tail}{no}"}
        customer = f"{prefix}_{tail}{no}"
        arrives = no < len(rows)
        made.append(Sent(name, operation, amount_minor, customer, **extra, arrives=arrives))
    return tuple(made)


def play(rows: Iterable[Sent], *, sandbox: Sandbox) -> None:
    """Send what arrives, past the ledger, as such a system does. A key sent again is replayed."""
    for sent in rows:
        if not sent.arrives:
            continue
        # The provider wants a key; a row that names none was sent with one that nobody kept.
        headers = {"X_Account": ACCOUNT, "Idempotency_Key": sent.key or f"unkept-{sent.id}"}
        if sent.request_id:
            headers["X_Request_Id"] = sent.request_id
        body = {"amount": sent.amount_minor, "currency": "EUR", "counterparty": sent.customer}
        sandbox.send_as_stranger(PATHS[sent.operation], body=body, **headers)


def export(rows: Iterable[Sent], *, sent_at: datetime | None) -> str:
    """The rows as CSV with a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(sent.cells(sent_at) for sent in rows)
    return text.getvalue()
