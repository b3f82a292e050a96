"""Findings as stored: canonical JSON text that reads back as the same finding."""

import re
from collections.abc import Mapping
from datetime import datetime

from ledger.rules.absence import Clause
from ledger.rules.comparison import FieldComparison, Verdict
from ledger.rules.contract import FoundObject, Route, Standing
from ledger.rules.digest import Json, canonical, loads
from ledger.rules.findings import Finding, FindingCode
from ledger.rules.words import words_from_json, words_to_json

VERSION = 1
_HALVES = re.compile(r"[\x00\ud800-\udfff]")
_TEXTS = ("status", "currency", "counterparty", "account", "reference", "request_id")


def finding_to_json(finding: Finding) -> str:
    """`finding` as canonical JSON text, version 1. What no JSON can carry (NUL, half a character
    pair) is replaced by the mark U+FFFD, so that odd provider text never loses a finding."""
    body = {
        "v": VERSION,
        "code": finding.code.value,
        "route": finding.route.value,
        "asked_at": finding.asked_at.isoformat(),
        "words": words_to_json(finding.words),
        "object_id": finding.object_id,
        "objects": [_object(found) for found in finding.objects],
        "comparisons": [_row(row) for row in finding.comparisons],
        "clauses": [_clause(clause) for clause in finding.clauses],
        "counts_from": _moment(finding.counts_from),
        "retry_until": _moment(finding.retry_until),
        "look_again_at": _moment(finding.look_again_at),
        "left_out": list(finding.left_out),
        "tied": finding.tied,
    }
    return canonical(_clean(body)).decode()


def finding_from_json(text: str | bytes) -> Finding:
    """The finding that `finding_to_json` wrote.

    Raises BadJson, KeyError, TypeError or ValueError for anything else.
    """
    data = _mapping(loads(text))
    if data["v"] != VERSION:
        raise ValueError("findings of this version are not known here")
    return Finding(
        code=FindingCode(_text(data["code"])),
        route=Route(_text(data["route"])),
        asked_at=datetime.fromisoformat(_text(data["asked_at"])),
        words=words_from_json(_mapping(data["words"])),
        object_id=_optional(data["object_id"]),
        objects=tuple(_object_from(_mapping(item)) for item in _items(data["objects"])),
        comparisons=tuple(_row_from(_mapping(item)) for item in _items(data["comparisons"])),
        clauses=tuple(_clause_from(_mapping(item)) for item in _items(data["clauses"])),
        counts_from=_moment_from(data["counts_from"]),
        retry_until=_moment_from(data["retry_until"]),
        look_again_at=_moment_from(data["look_again_at"]),
        left_out=tuple(_text(item) for item in _items(data["left_out"])),
        tied=data["tied"] is True,
    )


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError("an object belongs here")
    return value


def _items(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError("a list belongs here")
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError("a text belongs here")
    return value


def _optional(value: Json) -> str | None:
    return None if value is None else _text(value)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {key: _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment_from(value: Json) -> datetime | None:
    return None if value is None else datetime.fromisoformat(_text(value))


def _object(found: FoundObject) -> dict[str, object]:
    """Amounts stand as text: no reader may round them, however large the provider's figure is."""
    return {
        "object_id": found.object_id,
        "standing": found.standing.value,
        "amount_minor": None if found.amount_minor is None else str(found.amount_minor),
        "created_at": _moment(found.created_at),
        **{name: getattr(found, name) for name in _TEXTS},
    }


def _object_from(data: dict[str, Json]) -> FoundObject:
    amount = _optional(data["amount_minor"])
    return FoundObject(
        object_id=_text(data["object_id"]),
        standing=Standing(_text(data["standing"])),
        status=_text(data["status"]),
        amount_minor=None if amount is None else int(amount),
        currency=_optional(data["currency"]),
        counterparty=_optional(data["counterparty"]),
        account=_optional(data["account"]),
        created_at=_moment_from(data["created_at"]),
        reference=_optional(data["reference"]),
        request_id=_optional(data["request_id"]),
    )


def _row(row: FieldComparison) -> dict[str, object]:
    return {
        "name": row.name,
        "sent": _side(row.sent),
        "found": _side(row.found),
        "verdict": row.verdict.value,
        "note": row.note,
    }


def _row_from(data: dict[str, Json]) -> FieldComparison:
    return FieldComparison(
        name=_text(data["name"]),
        sent=_side_from(data["sent"]),
        found=_side_from(data["found"]),
        verdict=Verdict(_text(data["verdict"])),
        note=_text(data["note"]),
    )


def _side(value: str | datetime | None) -> object:
    return {"at": value.isoformat()} if isinstance(value, datetime) else value


def _side_from(value: Json) -> str | datetime | None:
    return _moment_from(value["at"]) if isinstance(value, dict) else _optional(value)


def _clause(clause: Clause) -> dict[str, object]:
    return {
        "letter": clause.letter,
        "name": clause.name,
        "holds": clause.holds,
        "words": words_to_json(clause.words),
    }


def _clause_from(data: dict[str, Json]) -> Clause:
    return Clause(
        letter=_text(data["letter"]),
        name=_text(data["name"]),
        holds=data["holds"] is True,
        words=words_from_json(_mapping(data["words"])),
    )
