"""A CSV file as it was handed in: read whole or refused whole, its columns matched to ours."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ledger.rules.digest import digest

LARGEST_BYTES = 20_000_000
DELIMITERS = (",", ";", "\t", "|")

# Our field, then the headers it goes by; the first that a file has is taken.
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        "id", "reference", "ref", "payment_id", "charge_ref", "invoice_id", "invoice", "order_id",
        "order", "payout_ref", "loan_id", "transaction_id", "external_id", "row_id",
    ),
    "operation": ("operation", "kind", "type", "action"),
    "amount": ("amount", "total", "value", "sum", "amount_major"),
    "amount_minor": ("amount_minor", "amount_cents", "cents", "minor_units", "amount_in_cents"),
    "currency": ("currency", "ccy", "currency_code", "cur"),
    "sent_at": (
        "sent_at", "sent", "first_sent_at", "requested_at", "started_at", "created_at", "created",
        "timestamp", "time", "date",
    ),
    "recipient": (
        "recipient", "customer", "customer_id", "counterparty", "payee", "beneficiary", "card",
        "recipient_id", "user_id", "to",
    ),
    "provider": ("provider", "gateway", "psp", "processor"),
    "account": ("account", "merchant_account", "provider_account"),
    "provider_object_id": (
        "provider_object_id", "object_id", "provider_id", "provider_reference", "charge_id",
        "payout_id", "refund_id", "psp_reference",
    ),
    "provider_request_id": ("provider_request_id", "request_id", "provider_request"),
    "idempotency_key": ("idempotency_key", "idempotency", "idem_key", "provider_key"),
}  # fmt: skip


class BadFile(ValueError):
    """The file as a whole cannot be used; nothing of it was taken in."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record: the file's line where it begins, its cells by header, or why it has none."""

    no: int
    cells: Mapping[str, str]
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A file that could be read. `columns` maps our field to the file's header."""

    name: str
    digest: str
    columns: Mapping[str, str]
    unused: tuple[str, ...]
    lines: tuple[Line, ...]

    def cell(self, line: Line, *, field: str) -> str:
        """What `line` holds for our `field`, without outer blanks; empty where it holds nothing."""
        header = self.columns.get(field)
        return line.cells.get(header, "").strip() if header else ""


def read(path: Path, *, mapped: Mapping[str, str] | None = None) -> Source:
    """The whole file; `mapped` names the header of our fields where the guess would be wrong.

    Raises BadFile, with words, for what is no CSV in UTF-8 with a header that names the rows.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from error
    text = _decoded(raw)
    records = _records(text)
    if not records:
        raise BadFile("The file is empty. The first line must name the columns.")
    header = [name.strip() for name in records[0][1]]
    columns = _columns(header, mapped or {})
    lines = tuple(_line(no, cells, header) for no, cells in records[1:])
    if not lines:
        raise BadFile("The file has a header but no line below it.")
    unused = tuple(name for name in header if name not in columns.values())
    return Source(path.name, digest(raw).hex(), columns, unused, lines)


def _decoded(raw: bytes) -> str:
    if len(raw) > LARGEST_BYTES:
        raise BadFile(f"The file is larger than {LARGEST_BYTES // 1_000_000} MB. Split it.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadFile("The file is in UTF-16. Save it as CSV in UTF-8.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        no = raw[: error.start].count(b"\n") + 1
        raise BadFile(f"The file is not in UTF-8: line {no} cannot be read.") from error
    if "\0" in text:
        no = text[: text.index("\0")].count("\n") + 1
        raise BadFile(f"The file is no text: line {no} holds a NUL character.")
    return text


def _records(text: str) -> list[tuple[int, list[str]]]:
    """Every record that is not blank, with the number of the line it begins on."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=lambda mark: _outside_quotes(first).count(mark))
    # The csv module reads line ends itself; a text that came with them translated would shift.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found, begins = [], 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                found.append((begins, cells))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise BadFile(f"The record that begins on line {begins} is broken: {error}.") from error
    return found


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _columns(header: Sequence[str], mapped: Mapping[str, str]) -> dict[str, str]:
    """Our field → their header. Raises BadFile where a name is missing, doubled or unknown."""
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled or "" in header:
        wrong = f"{doubled[0]!r} stands twice" if doubled and doubled[0] else "a name is empty"
        raise BadFile(f"The header must name every column once: {wrong}.")
    for ours, theirs in mapped.items():
        if ours not in NAMES:
            raise BadFile(f"--map: {ours!r} is no field; the fields are {', '.join(NAMES)}.")
        if theirs not in header:
            raise BadFile(f"--map: the file has no column {theirs!r}; it has {', '.join(header)}.")
    by_plain_name = {_plain(name): name for name in header}
    columns = dict(mapped)
    for ours, names in NAMES.items():
        free = [name for name in names if by_plain_name.get(name) not in (None, *columns.values())]
        if ours not in columns and free:
            columns[ours] = by_plain_name[free[0]]
    if "id" not in columns:
        raise BadFile(
            f"No column names the row. The file has {', '.join(header)}; say which one does: "
            f"--map id=COLUMN."
        )
    return columns


def _plain(name: str) -> str:
    """`Sent At`, `sent-at` and `SENT_AT` are one name."""
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())


def _line(no: int, cells: list[str], header: Sequence[str]) -> Line:
    if len(cells) != len(header):
        words = f"it has {len(cells)} cells, the header has {len(header)}"
        return Line(no, {}, wrong=words)
    return Line(no, dict(zip(header, cells, strict=True)))
