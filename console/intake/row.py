"""One line of somebody else's file as the intent it once was, or why it cannot be one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from console.intake.source import Line, Source
from ledger import clock, contracts
from ledger.errors import LedgerError
from ledger.intents import MESSAGES, Intent
from ledger.rules import money
from ledger.rules.redaction import scrub

# How an operation is called elsewhere; our own names stand first.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "charge": ("charge", "payment", "collect", "card", "sale", "capture"),
    "payout": ("payout", "transfer", "withdrawal", "pay"),
    "refund": ("refund", "reversal", "return"),
    "disbursement": ("disbursement", "disburse", "loan"),
    "email": ("email", "mail", "message", "receipt"),
}
KEY_TYPES = {
    "charge": "payment",
    "payout": "payout",
    "refund": "refund",
    "disbursement": "loan",
    "email": "email",
}
LONGEST_ID, LONGEST_REF = 120, 200
SKEW = timedelta(minutes=5)
OLDEST = datetime(2000, 1, 1, tzinfo=UTC)
# A token has a digit or an underscore in it, or it could be a name.
_TOKEN = re.compile(r"(?=.*[0-9_])[A-Za-z0-9][A-Za-z0-9_.\-]{0,119}")
# An IBAN, a card, an account or a telephone number.
_OWN_NUMBER = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{8,30}|[0-9.\-]{9,}")
_EPOCH = re.compile(r"[0-9]{10}(?:[0-9]{3})?")
_DATE_ALONE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class BadLine(ValueError):
    """This line cannot be taken in; says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the command line says for a file that does not say it itself."""

    tenant_id: UUID
    environment: str
    provider: str
    account: str
    operation: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line ready to be taken in: its intent, the provider's ids it names, and what to mention."""

    intent: Intent
    refs: tuple[str, ...]
    notes: tuple[str, ...]


def row(line: Line, *, source: Source, defaults: Defaults) -> Row:
    """`line` as an intent. Raises BadLine."""
    if line.wrong:
        raise BadLine(line.wrong)
    object_id = _id(source.cell(line, field="id"))
    operation = _operation(source.cell(line, field="operation"), defaults)
    provider = source.cell(line, field="provider").lower() or defaults.provider
    amount = _amount(source, line, defaults, operation=operation, provider=provider)
    token, label = _recipient(source.cell(line, field="recipient"))
    key_type = KEY_TYPES[operation]
    intent = Intent(
        tenant_id=defaults.tenant_id,
        intent_key=f"{key_type}:{object_id}:intake:v1",
        provider=provider,
        operation=operation,
        request={
            "source": source.name,
            "file_digest": source.digest,
            "line": line.no,
            "row": kept_cells(line.cells),
        },
        account=source.cell(line, field="account") or defaults.account,
        environment=defaults.environment,
        amount_minor=amount.minor_units if amount else None,
        currency=amount.currency if amount else MESSAGES,
        object_type=key_type,
        object_ref=object_id,
        recipient_token=token,
        recipient_label=label,
        first_attempt_at=_sent_at(source.cell(line, field="sent_at")),
    )
    unlike = bool(label) and token is None
    notes = ("the recipient is no token, so it is masked and not compared",) if unlike else ()
    return Row(intent, _refs(source, line), notes)


def kept_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """The cells as they are kept: card numbers and secrets are cut out of them."""
    return {name: scrub(text) for name, text in cells.items()}


def _id(text: str) -> str:
    if not text:
        raise BadLine("it has no id")
    if len(text) > LONGEST_ID:
        raise BadLine(f"its id is longer than {LONGEST_ID} characters")
    return text


def _operation(text: str, defaults: Defaults) -> str:
    if not text and defaults.operation:
        return defaults.operation
    if not text:
        raise BadLine(f"it names no operation; say --operation with one of {_operations()}")
    for operation, names in OPERATIONS.items():
        if text.lower() in names:
            return operation
    raise BadLine(f"{text!r} is no operation; they are {_operations()}")


def _operations() -> str:
    return ", ".join(OPERATIONS)


def _amount(
    source: Source, line: Line, defaults: Defaults, *, operation: str, provider: str
) -> money.Money | None:
    """The amount, or None for a message. Raises BadLine for an amount that can be read two ways."""
    try:
        has_amount = contracts.current(provider, operation).has_amount
    except LedgerError as error:
        raise BadLine(error.message) from error
    if not has_amount:
        return None
    currency = (source.cell(line, field="currency") or defaults.currency or "").upper()
    if not currency:
        raise BadLine("it names no currency; say --currency")
    major, minor = source.cell(line, field="amount"), source.cell(line, field="amount_minor")
    if not major and not minor:
        raise BadLine("it has no amount")
    try:
        if major:
            return money.parse(major, currency)
        if not (minor.isascii() and minor.isdigit()):
            raise BadLine(f"{minor!r} is no whole number of the currency's smallest unit")
        return money.money(int(minor), currency)
    except money.BadAmount as error:
        raise BadLine(f"amount: {error}") from error


def _sent_at(text: str) -> datetime | None:
    """When it was sent; a time without a zone is read as UTC. Raises BadLine."""
    if not text:
        return None
    if _DATE_ALONE.fullmatch(text):
        raise BadLine(f"{text} is a day; a lookup needs the time it was sent, or an empty cell")
    try:
        if _EPOCH.fullmatch(text):
            sent_at = datetime.fromtimestamp(int(text[:10]), UTC)
        else:
            sent_at = datetime.fromisoformat(text)
    except ValueError:
        raise BadLine(f"{text!r} is no time; write 2026-11-30T14:03:00Z") from None
    if sent_at.tzinfo is None:
        sent_at = sent_at.replace(tzinfo=UTC)
    if not OLDEST <= sent_at <= clock.now() + SKEW:
        raise BadLine(f"it says that it was sent at {sent_at.isoformat()}, which cannot be")
    return sent_at


def _recipient(text: str) -> tuple[str | None, str | None]:
    """The token to compare and the label to show; what may be a person's own is masked instead."""
    if not text:
        return None, None
    if "@" in text:
        _, _, domain = text.partition("@")
        return None, f"{text[0]}…@{domain[:60]}"
    if _TOKEN.fullmatch(text) and not _OWN_NUMBER.fullmatch(text) and scrub(text) == text:
        return text, f"Recipient {text}"
    if any(letter.isdigit() for letter in text[-4:]):
        return None, f"Recipient ending {text[-4:]}"
    return None, f"Recipient {text[0]}…"


def _refs(source: Source, line: Line) -> tuple[str, ...]:
    """The provider's ids that the line names, as `kind:value`."""
    fields = {
        "object": "provider_object_id",
        "request": "provider_request_id",
        "key": "idempotency_key",
    }
    found = {kind: source.cell(line, field=field) for kind, field in fields.items()}
    for kind, text in found.items():
        if len(text) > LONGEST_REF or not text.isprintable():
            raise BadLine(f"its {fields[kind]} is too long or holds unprintable characters")
    return tuple(f"{kind}:{text}" for kind, text in found.items() if text)
