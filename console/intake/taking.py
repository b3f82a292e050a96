"""Takes a file's lines in, one commit each, and says of every line what became of it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from console.intake.row import BadLine, Defaults, Row, row
from console.intake.source import Source
from ledger import audit, dispatch, intents
from ledger.errors import DigestMismatch, LedgerError
from ledger.ids import screen_id
from ledger.rules.money import format_money
from ledger.sql import row as first_row


class Fate(StrEnum):
    """What became of a line."""

    TAKEN_IN = "taken in"
    ALREADY_THERE = "already there"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Report:
    """One line of the report; `words` says which effect it became, or why it was refused."""

    no: int
    id: str
    fate: Fate
    words: str
    effect_id: UUID | None = None


def take(source: Source, *, defaults: Defaults, dry_run: bool) -> Iterator[Report]:
    """Every line's report as it happens; with `dry_run` nothing is written.

    A line that stands already is not taken in again, however often and from whichever file it
    comes; another line with the same id is refused with the difference.
    """
    seen: dict[str, tuple[int, Row]] = {}
    for line in source.lines:
        named = source.cell(line, field="id")
        try:
            wanted = row(line, source=source, defaults=defaults)
            intents.check(wanted.intent)
            report = _again(line.no, named, wanted, seen.get(wanted.intent.intent_key))
            report = report or _taken(line.no, named, wanted, dry_run=dry_run)
            seen.setdefault(wanted.intent.intent_key, (line.no, wanted))
            yield report
        except BadLine as error:
            yield Report(line.no, named, Fate.REFUSED, f"{str(error).rstrip('.')}.")
        except LedgerError as error:
            yield Report(line.no, named, Fate.REFUSED, error.message)


def file_record(source: Source, *, defaults: Defaults, counts: Counter[Fate]) -> None:
    """Keep in the record that this file was taken in, and how many of its lines."""
    audit.record(
        "intake",
        tenant_id=defaults.tenant_id,
        by=None,
        object_type="file",
        object_id=source.digest,
        facts={fate.name.lower(): counts[fate] for fate in Fate} | {"lines": len(source.lines)},
    )


def _taken(no: int, named: str, wanted: Row, *, dry_run: bool) -> Report:
    if standing := _standing(wanted):
        return Report(no, named, Fate.ALREADY_THERE, screen_id(standing), standing)
    if dry_run:
        return Report(no, named, Fate.TAKEN_IN, _described(wanted))
    try:
        taken = dispatch.take_in(wanted.intent, refs=wanted.refs)
    except DigestMismatch:  # another process took the id in since we asked
        standing = _standing(wanted)
        if standing is None:
            raise
        return Report(no, named, Fate.ALREADY_THERE, screen_id(standing), standing)
    words = f"{screen_id(taken.effect_id)}  {_described(wanted)}"
    fate = Fate.TAKEN_IN if taken.created else Fate.ALREADY_THERE
    return Report(no, named, fate, words, taken.effect_id)


def _described(wanted: Row) -> str:
    intent = wanted.intent
    amount = (
        "" if intent.amount_minor is None else format_money(intent.amount_minor, intent.currency)
    )
    sent = f"sent {intent.first_attempt_at:%Y-%m-%d %H:%M:%S %Z}" if intent.first_attempt_at else ""
    parts = (intent.operation, amount, sent or "no time of sending", *wanted.notes)
    return ", ".join(part for part in parts if part)


def _again(no: int, named: str, wanted: Row, before: tuple[int, Row] | None) -> Report | None:
    """A line whose id stood further up in the file. Raises BadLine where that one differs."""
    if before is None:
        return None
    first_no, first = before
    if differences := _differences(_cells(first.intent.request), _cells(wanted.intent.request)):
        raise BadLine(f"line {first_no} has the same id with other content: {differences}")
    return Report(no, named, Fate.ALREADY_THERE, f"the same as line {first_no}")


def _standing(wanted: Row) -> UUID | None:
    """The effect that the id stands for, or None. Raises BadLine where it has other content."""
    intent = wanted.intent
    found = first_row(
        "select e.effect_id, p.body, e.amount_minor, e.currency from effect e left join payload p"
        " on p.tenant_id = e.tenant_id and p.effect_id = e.effect_id and p.no = 1"
        " where e.tenant_id = %s and e.intent_key = %s",
        (intent.tenant_id, intent.intent_key),
    )
    if found is None:
        return None
    effect_id, body, amount_minor, currency = found
    there = _cells(json.loads(body)) if body is not None else None
    if there is not None:
        differences = _differences(there, _cells(intent.request))
    else:  # the source line was erased; what the effect itself says must still agree
        same = (amount_minor, currency) == (intent.amount_minor, intent.currency)
        differences = "" if same else "another amount"
    if differences:
        words = f"{screen_id(effect_id)} has the same id with other content: {differences}"
        raise BadLine(words)
    return UUID(str(effect_id))


def _cells(request: Mapping[str, Any]) -> Mapping[str, str]:
    return dict(request["row"])


def _differences(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Every column that is not the same, in words; empty where the rows are one."""
    names = [*there, *(name for name in here if name not in there)]
    return "; ".join(
        f"{name} is {there.get(name, 'absent')!r} there, {here.get(name, 'absent')!r} here"
        for name in names
        if there.get(name, "").strip() != here.get(name, "").strip()
    )
